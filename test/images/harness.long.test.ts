import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { versionCommand } from '../../packages/server/src/images/harnesses/commands.ts';
import { installHarness } from '../../packages/server/src/images/harnesses/install.ts';
import { harnesses } from '../../packages/server/src/images/harnesses/table.ts';
import { machineArchitecture } from '../../packages/server/src/images/oci/platform.ts';
import { testServer } from '../e2e/server.ts';
import { slowness } from '../slowness.ts';

const run = promisify(execFile);
const place = { distribution: 'debian', release: 'bookworm' } as const;
const architecture = machineArchitecture() as 'amd64' | 'arm64';
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'caisson-harness-'));
});
afterAll(() => rm(root, { recursive: true }));

/** The steps run here as a build runs them, but below a folder; what they install needs nothing of this machine's PATH. */
test.each(Object.values(harnesses))(
  '$id is installed from the registry, and says its version',
  { timeout: 180_000 * slowness },
  async (harness) => {
    const install = installHarness(harness, { place, architecture, root });
    if (typeof install === 'string') throw new Error(install);
    for (const step of install.steps) {
      await run('/bin/sh', ['-c', step.run], { env: { PATH: '/usr/bin:/bin', HOME: root }, maxBuffer: 1024 ** 2 });
    }
    const bare = { PATH: '/nowhere', HOME: root, ...harness.env };
    const [program, ...args] = versionCommand(harness, root).argv;
    const { stdout } = await run(program, args, { env: bare });
    expect(stdout).toContain(harness.defaultVersion);
    // The command and the options of a one-shot run are ones that this version has.
    const [verb] = harness.oneShot;
    const help = await run(program, [...(verb === undefined ? [] : [verb]), '--help'], { env: bare });
    expect(help.stdout + help.stderr).toContain(harness.profileOption);
    for (const option of harness.oneShot.filter((word) => word.startsWith('--')))
      expect(help.stdout + help.stderr).toContain(option);
  },
);

/** Through the sandbox's own way out, on the machine's programs, which trust what the machine trusts. */
test.runIf(process.getuid?.() === 0).each(Object.values(harnesses))(
  '$id is installed in a sandbox, and says its version there',
  { timeout: 300_000 * slowness },
  async (harness) => {
    // Not in the usual place, which has a link in the machine's own programs.
    const inside = '/opt/harness';
    const install = installHarness(harness, { place, architecture, root: inside });
    if (typeof install === 'string') throw new Error(install);
    const server = await testServer({ drivers: ['oci'] });
    try {
      const sandbox = await new Caisson({ baseUrl: server.url }).sandboxes.create({
        spec: { source: { kind: 'none' }, os: 'host', runtime: { network: { mode: 'open' } } },
      });
      for (const step of install.steps) {
        const done = await sandbox.exec(['sh', '-c', step.run], { user: 'root', timeoutSeconds: 240 });
        expect(done.exitCode, done.stdout + done.stderr).toBe(0);
      }
      const { stdout } = await sandbox.exec([...versionCommand(harness, inside).argv]);
      expect(stdout).toContain(harness.defaultVersion);
      await sandbox.destroy();
    } finally {
      await server.close();
    }
  },
);
