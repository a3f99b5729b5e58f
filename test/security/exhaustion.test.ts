import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeExhaustion } from './describe-exhaustion.ts';
import { type Attacked, compile, SandboxWorld } from './sandbox-world.ts';

const mebibyte = 1024 * 1024;

for (const runtime of ['runc', 'crun'] as const) describeExhaustion(runtime, () => SandboxWorld.open(runtime));

describe.each(['runc', 'crun'] as const)('what a sandbox of %s can use up of its disk', (runtime) => {
  let world: SandboxWorld;
  let bomb: Buffer;

  beforeAll(async () => {
    world = await SandboxWorld.open(runtime);
    bomb = compile('bomb.c');
  });
  afterAll(() => world.close());

  async function launch(options: Parameters<SandboxWorld['launch']>[0] = {}): Promise<Attacked> {
    const sandbox = await world.launch(options);
    await sandbox.guest.files.write('/bomb', bomb, { user: 'root', mode: 0o755 });
    return sandbox;
  }

  test('a full disk is full inside only: programs are told ENOSPC and the file API says which limit it is', async () => {
    const { id, guest, sh, isWell } = await launch({ quotaBytes: 16 * mebibyte });
    expect((await sh('cat /dev/zero > /tmp/full')).said).toMatch(/No space left on device/);
    const writing = guest.files.write('/tmp/more', Buffer.alloc(4 * mebibyte), { user: 'root' });
    await expect(writing).rejects.toMatchObject({ code: 'disk_quota_exceeded' });
    const disk = lstatSync(join(world.folder, 'pool', 'rootfs', id, 'disk.ext4'));
    expect(disk.blocks * 512).toBeLessThanOrEqual(17 * mebibyte);
    expect(await isWell()).toBe(true);
    await guest.files.remove('/tmp/full', { user: 'root' });
    await guest.files.write('/tmp/more', Buffer.alloc(mebibyte), { user: 'root' });
  });

  test('a disk without inodes is told by the same words, and is the sandbox its own', async () => {
    const { guest, sh, isWell } = await launch({ quotaBytes: 16 * mebibyte });
    expect((await sh('mkdir /many && /bomb inodes /many')).said).toMatch(/inodes after \d+: No space left on device/);
    const writing = guest.files.write('/one-more', 'x', { user: 'root' });
    await expect(writing).rejects.toMatchObject({ code: 'disk_quota_exceeded' });
    expect(await isWell()).toBe(true);
  });
});
