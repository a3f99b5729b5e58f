import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { afterEach, describe, expect, test } from 'vitest';
import { mountsBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import { OverlayStorage } from '../../packages/server/src/storage/overlay/overlay-storage.ts';
import { describeLayered } from './describe-layered.ts';
import { describeStorage } from './describe-storage.ts';
import { describeStorageKills } from './describe-storage-kills.ts';
import { host, isRoot, type LayeredKind, type LayeredWorld, layeredWorld } from './layered-world.ts';

const never = () => new AbortController().signal;

const overlay = (options: { readonly spare?: boolean } = {}): LayeredKind => ({
  name: 'overlay',
  open: (folder) =>
    new OverlayStorage({ pool: join(folder, 'pool'), mounts: join(folder, 'mounts'), host, ...options }),
  pool: (folder) => join(folder, 'pool'),
});

if (isRoot) describeStorage('overlay', () => layeredWorld(overlay()));
if (isRoot) describeStorage('overlay with a disk in advance', () => layeredWorld(overlay({ spare: true })));
else test.skip('storage overlay: mounting needs root', () => {});
describeLayered(overlay());
describeStorageKills(overlay());

describe.runIf(isRoot)('overlay storage', () => {
  const made: LayeredWorld[] = [];
  const open = async (options = {}) => {
    const one = await layeredWorld(overlay(options));
    made.push(one);
    return one;
  };
  afterEach(async () => {
    for (const one of made.splice(0)) await one.close();
  });

  test('destroying gives every mount and loop device back, also while a file is open', async () => {
    const { storage, image, pool } = await open();
    const loops = () =>
      execFileSync('losetup', ['-a'], { encoding: 'utf8' })
        .split('\n')
        .filter((line) => line.includes(pool));
    for (const quotaBytes of [undefined, 8 * 1024 * 1024]) {
      const sandbox = newId('sandbox');
      const rootfs = await storage.prepare({ sandbox, image, ...(quotaBytes ? { quotaBytes } : {}) }, never());
      expect(await mountsBelow(rootfs.path)).toEqual([rootfs.path]);
      await storage.destroy(sandbox, never());
      expect(existsSync(rootfs.path)).toBe(false);
    }
    expect(await mountsBelow(pool)).toEqual([]);
    expect(loops()).toEqual([]);
  });

  const quotaBytes = 8 * 1024 * 1024;
  const prepareAndMakeAhead = async ({ storage, image, pool }: LayeredWorld) => {
    await storage.prepare({ sandbox: newId('sandbox'), image, quotaBytes }, never());
    storage.makeAhead?.();
    await expect.poll(async () => (await mountsBelow(join(pool, 'making'))).length).toBe(1);
  };
  const drafts = (pool: string) => readdirSync(join(pool, 'making'));

  test('the disk that was made in advance becomes that of the next sandbox of this size, with its limit', async () => {
    const world = await open({ spare: true });
    const { storage, image, pool } = world;
    const [next, other] = [newId('sandbox'), newId('sandbox')];
    await prepareAndMakeAhead(world);
    const inode = statSync(join(pool, 'making', drafts(pool)[0] ?? '')).ino;
    const rootfs = await storage.prepare({ sandbox: next, image, quotaBytes }, never());
    expect(statSync(join(pool, 'rootfs', next)).ino).toBe(inode);
    expect(() => writeFileSync(join(rootfs.path, 'large'), Buffer.alloc(quotaBytes))).toThrow(/ENOSPC/);
    storage.makeAhead?.();
    // Of another size: what was made in advance does not fit.
    await storage.prepare({ sandbox: other, image, quotaBytes: 2 * quotaBytes }, never());
    expect(await storage.usage(other, never())).toMatchObject({ quotaBytes: 2 * quotaBytes });
    expect(drafts(pool)).toEqual([]);
  });

  test('a disk in advance is given back at the end', async () => {
    const world = await open({ spare: true });
    await prepareAndMakeAhead(world);
    await world.storage.close?.();
    expect(drafts(world.pool)).toEqual([]);
    expect(await mountsBelow(join(world.pool, 'making'))).toEqual([]);
  });

  test('a disk in advance that a killed server left is swept, mount and all', async () => {
    const world = await open({ spare: true });
    await prepareAndMakeAhead(world);
    expect(await world.storage.recover(never())).toHaveLength(1);
    expect(drafts(world.pool)).toEqual([]);
    expect(await mountsBelow(join(world.pool, 'making'))).toEqual([]);
  });

  test('empty disks of odd sizes do not heap up', async () => {
    const { storage, image, pool } = await open();
    for (let size = 0; size < 12; size += 1) {
      const sandbox = newId('sandbox');
      await storage.prepare({ sandbox, image, quotaBytes: quotaBytes + size * 4096 }, never());
      await storage.destroy(sandbox, never());
    }
    expect(readdirSync(join(pool, 'templates'))).toHaveLength(8);
    expect(drafts(pool)).toEqual([]);
  });
});
