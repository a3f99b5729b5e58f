// `npm run quickstart`: from a clean clone to a sandbox at work, with the commands that a person would type.
// `-- --keep` leaves the sandbox running and says how to go on.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { build, root, setup } from './setup.mjs';

const keep = process.argv.includes('--keep');
const name = 'quickstart';
const bin = join(root, 'packages', 'cli', 'bin', 'caisson.mjs');
const begun = Date.now();
const summary = [];

/** One step with its title, its time, and what is to be seen in it. */
function step(title, work) {
  const start = Date.now();
  console.log(`\n── ${title}`);
  const shown = work();
  summary.push([title, ((Date.now() - start) / 1000).toFixed(1), shown ?? '']);
}

/** A command as a person would type it; what it says is shown as it comes. */
function caisson(...args) {
  console.log(`$ caisson ${args.map((word) => (/[^\w./:=@-]/.test(word) ? `'${word}'` : word)).join(' ')}`);
  return spawnSync(process.execPath, [bin, ...args], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status;
}

/** The same, with what it says as the result. */
function ask(...args) {
  console.log(`$ caisson ${args.map((word) => (/[^\w./:=@-]/.test(word) ? `'${word}'` : word)).join(' ')}`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], { cwd: root, encoding: 'utf8' });
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  return { status, said: `${stdout}${stderr}`.trim() };
}

function must(true_, otherwise) {
  if (true_) return;
  throw new Error(otherwise);
}

async function prepare() {
  if (process.platform !== 'linux') throw new Error('real sandboxes need Linux');
  if (process.getuid?.() !== 0) throw new Error('real sandboxes need root on this machine for now: run it with sudo');
  setup({ use: 'quickstart' });
  if (!(await build())) throw new Error('the build failed; its messages are above');
}

function tour() {
  step('what this machine can do', () =>
    must(caisson('doctor') === 0, 'the doctor found something: see its FIX lines'),
  );
  step('from a spec to a sandbox', () => {
    // One of an earlier run that was kept, or that was interrupted, is in the way.
    spawnSync(process.execPath, [bin, 'destroy', name], { cwd: root, stdio: 'ignore' });
    must(
      caisson('create', '--name', name, '--spec', 'examples/quickstart.yaml', '--wait', '10m') === 0,
      'it could not be created',
    );
    return 'a Debian of its own, ready';
  });
  step('a command in it', () => {
    const { status, said } = ask(
      'exec',
      name,
      '--shell',
      'echo "$GREETING, $(id -un) on $(hostname)"; nproc; cat /etc/debian_version',
    );
    must(status === 0 && said.includes('hello from inside'), 'the command did not run');
    return said.split('\n')[0];
  });
  step('a file written and read', () => {
    must(caisson('cp', 'README.md', `${name}:/workspace/README.md`) === 0, 'the file could not be written');
    const { status, said } = ask('exec', name, '--', 'head', '-n', '1', '/workspace/README.md');
    must(status === 0 && said === '# Caisson', 'the file is not what was written');
    return 'README.md, there and back';
  });
  step('a mistake, undone', () => {
    must(caisson('turn-complete', name) === 0, 'the turn could not be kept');
    must(caisson('exec', name, '--shell', 'rm -rf /workspace/*') === 0, 'the mistake could not be made');
    must(caisson('rollback', name, 'turn-0001') === 0, 'it could not be rolled back');
    const { status, said } = ask('exec', name, '--', 'head', '-n', '1', '/workspace/README.md');
    must(status === 0 && said === '# Caisson', 'the file has not come back');
    return 'removed, rolled back, there again';
  });
  step('a fork bomb, contained', () => {
    const { said: bomb } = ask(
      'exec',
      name,
      '--detach',
      '--',
      'bash',
      '-c',
      'exec 2>/dev/null; :(){ :|:& };:; exec sleep 60',
    );
    spawnSync('sleep', ['1']);
    const { said: stats } = ask('stats', name);
    ask('kill', name, bomb, '-s', 'KILL');
    const { status, said: after } = ask('exec', name, '--', 'echo', 'still here');
    must(status === 0 && after.includes('still here'), 'the sandbox does not answer any more');
    return `${/processes\s+(\d+)/.exec(stats)?.[1] ?? 'few'} processes and no more; the sandbox and the machine go on`;
  });
  step('the host, out of sight', () => {
    const { said } = ask(
      'exec',
      name,
      '--user',
      'root',
      '--shell',
      `ls ${root} /root/.ssh /etc/shadow.host 2>&1; ls /proc | grep -c '^[0-9]'; cat /proc/self/uid_map`,
    );
    must(!said.includes('package.json'), 'files of the host can be seen');
    return 'its own files, its own processes, root inside is nobody outside';
  });
  step('no way out', () => {
    const { said } = ask(
      'exec',
      name,
      '--shell',
      'tail -n +3 /proc/net/dev | cut -d: -f1; bash -c "exec 3<>/dev/tcp/192.0.2.1/80" 2>&1 | head -n 1',
    );
    must(said.includes('lo') && !said.includes('eth0'), 'there is more than its own loopback');
    return 'loopback and nothing else';
  });
}

function leave() {
  if (keep) {
    console.log(`\nIt is left running. Go on with

  npx caisson shell ${name}        a terminal in it
  npx caisson exec ${name} -- ls   a command
  npx caisson stats ${name}        what it uses
  npx caisson destroy ${name}      and it is gone
  npx caisson stop-server         ends the server; sandboxes live on without it`);
    return;
  }
  step('away with it', () => {
    must(caisson('destroy', name) === 0, 'it could not be destroyed');
    must(caisson('stop-server') === 0, 'the server could not be stopped');
    return 'nothing is left';
  });
}

function tell() {
  console.log('\n── summary');
  const width = Math.max(...summary.map(([title]) => title.length));
  for (const [title, seconds, shown] of summary)
    console.log(`✓ ${title.padEnd(width)}  ${seconds.padStart(5)} s  ${shown}`);
  console.log(`\nDone in ${((Date.now() - begun) / 1000).toFixed(1)} s. README.md says where to go from here.`);
}

try {
  await prepare();
  tour();
  leave();
  tell();
} catch (error) {
  console.error(`\n✗ quickstart: ${error.message}`);
  spawnSync(process.execPath, [bin, 'destroy', name], { cwd: root, stdio: 'ignore' });
  process.exit(1);
}
