import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SandboxWorld } from './sandbox-world.ts';

/** What an image may have where a runtime and the guest expect something else. */
const images: Readonly<Record<string, (layer: string) => void>> = {
  'its /dev/null is a link': (layer) => symlinkSync('/proc/sys/kernel/core_pattern', join(layer, 'dev', 'null')),
  'its /dev is a link to a folder of the host': (layer) => replace(layer, 'dev', '/etc'),
  'its /dev is a link to /proc': (layer) => replace(layer, 'dev', '/proc'),
  'its /proc is a link': (layer) => replace(layer, 'proc', '/tmp'),
  'its /sys is a link': (layer) => replace(layer, 'sys', '/tmp'),
  'its /proc climbs': (layer) => replace(layer, 'proc', '../../../../../../proc'),
  'its /dev is a file': (layer) => {
    rmSync(join(layer, 'dev'), { recursive: true });
    writeFileSync(join(layer, 'dev'), '');
  },
  'its /etc/passwd is a link to that of the host': (layer) => {
    replace(join(layer, 'etc'), 'passwd', '/../../../../../etc/passwd');
    replace(join(layer, 'etc'), 'group', '/proc/1/root/etc/group');
  },
  'its /etc/passwd and /etc/group are pipes': (layer) => {
    for (const name of ['passwd', 'group']) {
      rmSync(join(layer, 'etc', name));
      execFileSync('mkfifo', [join(layer, 'etc', name)]);
    }
  },
  'its /etc/passwd leads in a circle': (layer) => replace(join(layer, 'etc'), 'passwd', 'passwd'),
  'its /etc/passwd leads through many links to a pipe': (layer) => {
    replace(layer, 'hop', '/tmp/../tmp');
    replace(join(layer, 'etc'), 'passwd', '../hop/./pipe');
    execFileSync('mkfifo', [join(layer, 'tmp', 'pipe')]);
  },
  "its /etc/passwd is what the guest's secret comes through": (layer) =>
    replace(join(layer, 'etc'), 'passwd', '/proc/self/fd/0'),
  'its /etc/passwd is endless': (layer) => replace(join(layer, 'etc'), 'passwd', '/dev/zero'),
  'its /home is a link into /proc': (layer) => replace(layer, 'home', '/proc/1/root'),
  'its root has no permissions': (layer) => chmodSync(layer, 0o000),
  'it has a folder in the place of the guest': (layer) =>
    mkdirSync(join(layer, 'dev', '.caisson', 'guest'), { recursive: true }),
};

function replace(folder: string, name: string, target: string): void {
  rmSync(join(folder, name), { recursive: true, force: true });
  symlinkSync(target, join(folder, name));
}

describe.each(['runc', 'crun'] as const)('an image that means harm, under %s', (runtime) => {
  let world: SandboxWorld;
  beforeAll(async () => {
    world = await SandboxWorld.open(runtime);
  });
  afterAll(() => world.close());

  const watched = ['/etc/passwd', '/etc/group', '/proc/sys/kernel/core_pattern'];
  const hostState = () => watched.map((path) => readFileSync(path, 'utf8'));

  test.each(Object.entries(images))('%s: it is refused with a reason, or does no harm', async (_, spoil) => {
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
    expect(performance.now() - begin).toBeLessThan(5_000);
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
