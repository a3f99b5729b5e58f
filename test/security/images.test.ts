import { chmodSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostileImages, hostState, replace } from './hostile-images.ts';
import { SandboxWorld } from './sandbox-world.ts';

describe.each(['runc', 'crun'] as const)('an image that means harm, under %s', (runtime) => {
  let world: SandboxWorld;
  beforeAll(async () => {
    world = await SandboxWorld.open(runtime);
  });
  afterAll(() => world.close());

  test.each(Object.entries(hostileImages))('%s: it is refused with a reason, or does no harm', async (_, spoil) => {
    const before = hostState();
    const begin = performance.now();
    try {
      const sandbox = await world.launch({ spoil });
      expect(await sandbox.isWell()).toBe(true);
      // Masked and read-only as anywhere.
      expect((await sandbox.sh('echo x > /proc/sys/kernel/core_pattern')).code).not.toBe(0);
      expect((await sandbox.sh('head -c 10 /proc/timer_list 2>/dev/null | wc -c')).said).toBe('0\n');
      expect((await sandbox.sh('cat /etc/shadow')).said).toMatch(/No such file/);
      await world.driver.destroy(sandbox.key, new AbortController().signal);
    } catch (error) {
      if (!(error instanceof CaissonError)) throw error;
      expect(error.code).toMatch(/^(driver_failed|image_invalid)$/);
      expect(error.message.length).toBeGreaterThan(30);
    }
    expect(performance.now() - begin).toBeLessThan(30_000);
    expect(hostState()).toEqual(before);
  });

  test.each(['dev', 'proc', 'sys'])(
    'its /%s leads to a folder of the host that anybody may write: nothing is put there',
    async (name) => {
      const open = mkdtempSync(join(world.folder, 'open-'));
      chmodSync(open, 0o777);
      const launching = world.launch({ spoil: (layer) => replace(layer, name, open) });
      await expect(launching).rejects.toMatchObject({ message: expect.stringContaining(`/${name} `) });
      expect(readdirSync(open)).toEqual([]);
    },
  );
});
