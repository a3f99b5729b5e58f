import { execFileSync } from 'node:child_process';
import { afterAll, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { SandboxWorld, spec, whyNoSandboxes } from './sandbox-world.ts';

const diskMiB = 32;
const limited = { ...spec, runtime: { ...spec.runtime, resources: { diskMiB } } };
const tooMuch = Buffer.alloc((diskMiB + 8) * 1024 * 1024, 1);

describe.each(['btrfs', 'overlay'])('a sandbox whose disk is full, on %s', (storage) => {
  const world = new SandboxWorld();
  afterAll(() => world.close());

  test('is told so inside by the usual error, and outside by its name, and goes on', {
    timeout: 120_000,
  }, async (context) => {
    if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
    await world.start(['--storage', storage]);
    const sandbox = await world.client().sandboxes.create({ spec: limited });
    await world.note(sandbox);
    const full = { code: 'disk_quota_exceeded' };
    await expect(sandbox.files.write('/workspace/large', tooMuch)).rejects.toMatchObject(full);
    const fill = await sandbox.exec(['dd', 'if=/dev/zero', 'of=/workspace/zeros', 'bs=1M', `count=${diskMiB + 8}`]);
    expect(fill.exitCode).toBe(1);
    expect(fill.stderr).toMatch(/Disk quota exceeded|No space left on device/);
    await expect(sandbox.files.write('/workspace/more', tooMuch)).rejects.toMatchObject(full);
    expect((await sandbox.exec(['rm', '/workspace/zeros'])).exitCode).toBe(0);
    await sandbox.files.write('/workspace/small', 'fits');
    const { checks } = await world.client().doctor();
    expect(checks.find(({ name }) => name === `storage ${storage}`)?.detail).toContain(
      'chosen because it was asked for',
    );
    await sandbox.destroy();
    await world.stop();
    expect(await world.leftovers()).toEqual([]);
    // The kernel lets go of the device when the last of those who saw the mount has ended.
    await expect.poll(() => execFileSync('losetup', ['-a'], { encoding: 'utf8' })).not.toContain(world.folder);
  });
});
