// `npm run test:cgroup-v2`, `test:cgroup-v1`: what depends on control groups, on an emulated machine that has them that way. Takes
// a quarter of an hour. `-- test/security` names other tests, `-- --shell` gives a shell in the machine instead.
import { missingDebianPackages } from './debian-packages.mjs';
import { cgroupLayouts, runInMachine } from './emulated-machine.mjs';
import { build, root, setup } from './setup.mjs';

const [cgroups, ...rest] = process.argv.slice(2);
const shell = rest.includes('--shell');
const filters = rest.filter((argument) => argument !== '--shell');

const tests = [
  'test/conformance/oci-driver.test.ts',
  'test/security/exhaustion.test.ts',
  'test/security/confinement.test.ts',
  'test/chaos/guest-death.test.ts',
  'packages/guest/src/client/surroundings.test.ts',
  'packages/server/src/drivers/oci',
];

/** A test run takes a tenth of it; the rest is for a host that has more to do. */
const deadlineMs = 2 * 3_600_000;
/** Seen: ten to thirty times. What waits for something that never comes waits this much longer. */
const slowness = 20;

function fail(line) {
  console.error(`test:cgroup-${cgroups}: ${line}`);
  process.exit(1);
}

function quoted(word) {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

if (!cgroupLayouts.includes(cgroups)) fail(`which control groups? ${cgroupLayouts.join(', ')}`);
if (process.arch !== 'x64' || process.getuid?.() !== 0) fail('needs root on an x64 machine, to make another one');
setup({ use: 'emulated' });
const missing = missingDebianPackages('emulated').map((entry) => entry.package);
if (missing.length > 0) fail(`needs Debian packages: apt-get install ${missing.join(' ')}`);
if (!(await build())) fail('the build failed; its messages are above');

// One file at a time: two emulated processors are soon out of breath.
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--no-file-parallelism', '--reporter=verbose'];
const script = `
export REQUIRE_DRIVERS=oci-runc,oci-crun,oci-runsc CAISSON_TEST_SLOWNESS=${slowness} NO_COLOR=1
stat -fc 'control groups at /sys/fs/cgroup: %T' /sys/fs/cgroup
set -o pipefail
node ${[...vitest, ...(filters.length > 0 ? filters : tests)].map(quoted).join(' ')} 2>&1 | cat
code=$?
left=$(find /sys/fs/cgroup -mindepth 2 -type d -path '*/caisson/*')
[ -z "$left" ] || { echo "control groups were left: $left"; exit 1; }
exit $code
`;
const machine = { root, cgroups, processors: 2, memoryMiB: 4096, extraArguments: [], deadlineMs };
const code = await runInMachine({ ...machine, script: shell ? 'exec bash' : script, interactive: shell });
if (code === undefined && !shell)
  fail('the machine ended before its tests did; the last words of its kernel are above');
process.exit(code ?? 0);
