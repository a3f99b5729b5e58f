import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeHostFiles } from './describe-host-files.ts';
import { type Attacked, SandboxWorld } from './sandbox-world.ts';

for (const runtime of ['runc', 'crun'] as const)
  describeHostFiles(runtime, () => SandboxWorld.open(runtime), {
    placesOf(sandbox) {
      const { rootfs, folder } = sandbox as Attacked;
      return [rootfs.path, folder.socket];
    },
  });

describe.each(['runc', 'crun'] as const)('a sandbox of %s with programs of the host', (runtime) => {
  let world: SandboxWorld;
  let sandbox: Attacked;
  beforeAll(async () => {
    world = await SandboxWorld.open(runtime);
    sandbox = await world.launch();
  });
  afterAll(() => world.close());

  test('the programs that the host shows cannot be changed', async () => {
    for (const line of ['touch /usr/x', 'rm /usr/bin/env', 'chmod 777 /usr/bin', 'mv /usr/bin /usr/b'])
      expect((await sandbox.sh(line)).said, line).toMatch(/Read-only file system|Device or resource busy/);
  });
});
