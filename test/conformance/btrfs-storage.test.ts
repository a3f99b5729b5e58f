import { execFileSync } from 'node:child_process';
import { mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { afterEach, describe, expect, test } from 'vitest';
import { BtrfsStorage } from '../../packages/server/src/storage/btrfs/btrfs-storage.ts';
import { describeLayered } from './describe-layered.ts';
import { describeStorage } from './describe-storage.ts';
import { describeStorageKills } from './describe-storage-kills.ts';
import { host, isRoot, type LayeredKind, type LayeredWorld, layeredWorld } from './layered-world.ts';

const never = () => new AbortController().signal;
const mib = 1024 ** 2;

const btrfs = (options: { firstBytes?: number; mostBytes?: number } = {}): LayeredKind => ({
  name: 'btrfs',
  open: (folder) =>
    new BtrfsStorage({
      data: folder,
      pool: join(folder, 'pool'),
      mounts: join(folder, 'mounts'),
      host,
      firstBytes: 512 * mib,
      ...options,
    }),
  pool: (folder) => join(folder, 'pool'),
});

if (isRoot) describeStorage('btrfs', () => layeredWorld(btrfs()));
else test.skip('storage btrfs: mounting needs root', () => {});
describeLayered(btrfs());
describeStorageKills(btrfs());

describe.runIf(isRoot)('btrfs storage', () => {
  const made: LayeredWorld[] = [];
  const open = async (options = {}) => {
    const one = await layeredWorld(btrfs(options));
    made.push(one);
    return one;
  };
  afterEach(async () => {
    for (const one of made.splice(0)) await one.close();
  });

  function fill(path: string, bytes: number): void {
    for (let n = 0; n * 4 * mib < bytes; n += 1) writeFileSync(join(path, `fill${n}`), Buffer.alloc(4 * mib, n));
  }

  test('a pool that is full refuses sandboxes and says why; the others go on, and destroying makes room', async () => {
    const small = { firstBytes: 256 * mib, mostBytes: 256 * mib };
    const { storage, image, pool, read, restart } = await open(small);
    const [kept, greedy] = [newId('sandbox'), newId('sandbox')];
    const rootfs = await storage.prepare({ sandbox: kept, image }, never());
    writeFileSync(join(rootfs.path, 'mine'), 'kept');
    const { path } = await storage.prepare({ sandbox: greedy, image }, never());
    expect(() => fill(path, 512 * mib)).toThrow(/ENOSPC/);
    await host.sync(path);
    expect(await storage.health(never())).toMatchObject({ state: 'critical' });
    const full = { code: 'storage_full', message: expect.stringMatching(/pool\.btrfs is 9\d % full|100 % full/) };
    const again = btrfs(small).open(made[0]?.folder ?? '');
    await expect(again.prepare({ sandbox: newId('sandbox'), image }, never())).rejects.toMatchObject(full);
    // There is room for a snapshot or there is not; the sandbox does not notice.
    const snapshot = newId('snapshot');
    await storage.snapshot(greedy, snapshot, never()).catch((error) => expect(error.code).toBe('storage_full'));
    await storage.removeSnapshot(snapshot, never());
    expect(await read(rootfs)).toMatchObject({ mine: 'kept' });
    expect((await again.prepare({ sandbox: kept, image }, never())).path).toBe(rootfs.path);
    await storage.destroy(greedy, never());
    execFileSync('btrfs', ['filesystem', 'sync', pool]);
    await expect.poll(async () => (await storage.health(never())).state, { timeout: 30_000 }).toBe('ok');
    await storage.prepare({ sandbox: newId('sandbox'), image }, never()).catch(() => {});
    const next = await restart();
    expect((await next.list(never())).sandboxes).toContain(kept);
  });

  test('a snapshot counts what nobody else holds', async () => {
    const { storage, image, pool } = await open();
    const [sandbox, one, two] = [newId('sandbox'), newId('snapshot'), newId('snapshot')];
    const { path } = await storage.prepare({ sandbox, image }, never());
    fill(path, 4 * mib);
    await storage.snapshot(sandbox, one, never());
    await storage.snapshot(sandbox, two, never());
    const alone = async (id: typeof one) => (await storage.usage(id, never())).exclusiveBytes;
    expect([await alone(one), await alone(two)]).toEqual([0, 0]);
    rmSync(join(path, 'fill0'));
    await storage.removeSnapshot(one, never());
    // What is removed goes in the background.
    const settled = async () => {
      execFileSync('btrfs', ['filesystem', 'sync', pool]);
      return alone(two);
    };
    await expect.poll(settled, { timeout: 60_000 }).toBe(4 * mib);
  });

  test('a data folder that is on btrfs needs no pool of its own', async () => {
    const { folder, image, read } = await open();
    const [disk, data] = [join(folder, 'disk'), join(folder, 'data')];
    mkdirSync(data);
    execFileSync('truncate', ['-s', '512M', disk]);
    execFileSync('mkfs.btrfs', ['-q', disk]);
    await host.mountDisk({ file: disk, target: data, type: 'btrfs' });
    const own = { data, pool: join(folder, 'unused'), mounts: join(folder, 'mounts'), host };
    const storage = new BtrfsStorage(own);
    const [sandbox, snapshot] = [newId('sandbox'), newId('snapshot')];
    const rootfs = await storage.prepare({ sandbox, image, quotaBytes: 16 * mib }, never());
    writeFileSync(join(rootfs.path, 'a'), '1');
    await storage.snapshot(sandbox, snapshot, never());
    writeFileSync(join(rootfs.path, 'a'), '2');
    expect(await read(await storage.rollback(sandbox, snapshot, never()))).toMatchObject({ a: '1' });
    expect(readdirSync(data)).toEqual(['btrfs']);
    await storage.destroy(sandbox, never());
    await storage.close();
    expect(readdirSync(join(data, 'btrfs', 'snapshots'))).toEqual([snapshot]);
  });

  test('a pool that runs short grows, while sandboxes are at work in it', async () => {
    const { storage, image, pool, read } = await open({ firstBytes: 256 * mib, mostBytes: 1024 * mib });
    const rootfs = await storage.prepare({ sandbox: newId('sandbox'), image }, never());
    fill(rootfs.path, 200 * mib);
    await host.sync(pool);
    await storage.health(never());
    expect(statSync(join(pool, '..', 'pool.btrfs')).size).toBeGreaterThan(256 * mib);
    fill(rootfs.path, 300 * mib);
    expect(await read(rootfs)).toHaveProperty('fill0');
  });

  test('a pool that does not mount is said so and left as it is', async () => {
    const { storage, image, folder, restart } = await open();
    await storage.prepare({ sandbox: newId('sandbox'), image }, never());
    await restart();
    await expect.poll(() => execFileSync('losetup', ['-a'], { encoding: 'utf8' })).not.toContain(folder);
    const file = join(folder, 'pool.btrfs');
    const handle = openSync(file, 'r+');
    // Where its superblock is.
    writeSync(handle, Buffer.alloc(4096, 1), 0, 4096, 65_536);
    const before = readFileSync(file);
    const next = btrfs().open(folder);
    expect(await next.probe(never())).toMatchObject({
      usable: false,
      why: expect.stringContaining('cannot be mounted'),
    });
    await expect(next.list(never())).rejects.toMatchObject({ code: 'storage_failed' });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('what a sandbox was rolled back to, or cloned from, counts against its limit', async () => {
    const { storage, image } = await open();
    const [sandbox, clone, snapshot] = [newId('sandbox'), newId('sandbox'), newId('snapshot')];
    const quotaBytes = 16 * mib;
    const { path } = await storage.prepare({ sandbox, image, quotaBytes }, never());
    fill(path, 8 * mib);
    await storage.snapshot(sandbox, snapshot, never());
    const back = await storage.rollback(sandbox, snapshot, never());
    const other = await storage.clone(snapshot, { sandbox: clone, quotaBytes }, never());
    for (const rootfs of [back, other]) {
      writeFileSync(join(rootfs.path, 'fits'), Buffer.alloc(2 * mib));
      // Node has no name for EDQUOT.
      expect(() => writeFileSync(join(rootfs.path, 'large'), Buffer.alloc(10 * mib))).toThrow(/UNKNOWN|EDQUOT/);
    }
  });

  test('fifty clones of one snapshot at once are each their own', async () => {
    const { storage, image, write } = await open();
    const [sandbox, snapshot] = [newId('sandbox'), newId('snapshot')];
    await write(await storage.prepare({ sandbox, image }, never()), 'a', '1');
    await storage.snapshot(sandbox, snapshot, never());
    const clones = await Promise.all(
      Array.from({ length: 50 }, () => storage.clone(snapshot, { sandbox: newId('sandbox'), ownIds: true }, never())),
    );
    expect(new Set(clones.map(({ ids }) => ids?.first)).size).toBe(50);
    for (const { path } of clones) expect(readFileSync(join(path, 'a'), 'utf8')).toBe('1');
    await Promise.all(clones.map((clone) => storage.destroy(clone.sandbox, never())));
  });

  test('nothing is left of what was destroyed, in the pool and of mounts', async () => {
    const { storage, image, pool, folder } = await open();
    const [sandbox, snapshot] = [newId('sandbox'), newId('snapshot')];
    await storage.prepare({ sandbox, image, quotaBytes: 16 * mib }, never());
    await storage.snapshot(sandbox, snapshot, never());
    await storage.rollback(sandbox, snapshot, never());
    await storage.view(sandbox, async () => {}, never());
    await storage.removeSnapshot(snapshot, never());
    await storage.destroy(sandbox, never());
    await expect
      .poll(() => ['rootfs', 'snapshots', 'making', 'trash'].flatMap((name) => readdirSync(join(pool, name))))
      .toEqual([]);
    expect(execFileSync('btrfs', ['subvolume', 'list', pool], { encoding: 'utf8' })).toBe('');
    await storage.close?.();
    await expect.poll(() => execFileSync('losetup', ['-a'], { encoding: 'utf8' })).not.toContain(folder);
  });
});
