import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { newId } from '@caisson/contract';
import { HostClient } from '@caisson/guest';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { buildGuest } from '../../packages/guest/build.mjs';
import { mountsBelow, unmountBelow } from '../../packages/server/src/storage/overlay/mounts.ts';
import { OverlayStorage } from '../../packages/server/src/storage/overlay/overlay-storage.ts';
import type { Rootfs } from '../../packages/server/src/storage/storage.ts';
import { describeStorage, type StorageUnderTest } from './describe-storage.ts';

const never = () => new AbortController().signal;
const root = process.getuid?.() === 0;
const host = new HostClient(buildGuest({ quiet: true }));
afterAll(() => host.close());

/** Two layers, of which the upper one hides a file of the lower. */
const imageFiles = { 'etc/hostname': 'caisson\n', 'bin/tool': 'upper\n', 'lib/data': 'lower\n' };

async function overlay(
  options: { readonly spare?: boolean } = {},
): Promise<StorageUnderTest & { pool: string; reopen(): Promise<OverlayStorage> }> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-overlay-'));
  chmodSync(folder, 0o711);
  const layers = ['lower', 'upper'].map((name) => join(folder, 'layers', name));
  const files: [string, string][] = [
    ['lower/etc/hostname', 'caisson\n'],
    ['lower/bin/tool', 'lower\n'],
    ['lower/lib/data', 'lower\n'],
    ['upper/bin/tool', 'upper\n'],
  ];
  for (const [path, content] of files) {
    mkdirSync(join(folder, 'layers', dirname(path)), { recursive: true });
    writeFileSync(join(folder, 'layers', path), content);
  }
  const [pool, mounts] = [join(folder, 'pool'), join(folder, 'mounts')];
  const open = () => new OverlayStorage({ pool, mounts, host, ...options });
  const storage = open();
  const reopen = async () => {
    // As after a reboot: no mount is left.
    await unmountBelow(host, folder);
    return open();
  };
  return {
    pool,
    reopen,
    storage,
    image: { digest: `sha256:${'a'.repeat(64)}`, layers },
    imageFiles,
    restart: reopen,
    write: async (rootfs, path, content) => writeFileSync(join(rootfs.path, path), content),
    remove: async (rootfs, path) => rmSync(join(rootfs.path, path)),
    read: async (rootfs) => readTree(rootfs.path),
    async close() {
      await storage.close?.();
      await unmountBelow(host, folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function readTree(folder: string, top = folder): Record<string, string> {
  return Object.assign(
    {},
    ...readdirSync(folder).map((name) => {
      const path = join(folder, name);
      if (name === 'lost+found') return {};
      return lstatSync(path).isDirectory()
        ? readTree(path, top)
        : { [relative(top, path)]: readFileSync(path, 'utf8') };
    }),
  );
}

if (root) describeStorage('overlay', () => overlay());
if (root) describeStorage('overlay with a disk in advance', () => overlay({ spare: true }));
else test.skip('storage overlay: mounting needs root', () => {});

describe.runIf(root)('overlay storage', () => {
  const made: Awaited<ReturnType<typeof overlay>>[] = [];
  const open = async (options = {}) => {
    const one = await overlay(options);
    made.push(one);
    return one;
  };
  afterEach(async () => {
    for (const one of made.splice(0)) await one.close();
  });

  test('a rollback keeps owners, modes, links, deleted files and emptied folders as they were', async () => {
    const { storage, image } = await open();
    const [sandbox, snapshot] = [newId('sandbox'), newId('snapshot')];
    const describeTree = ({ path }: Rootfs) =>
      execFileSync('find', ['.', '-printf', '%p %y %m %U %G %l %n\n'], { cwd: path, encoding: 'utf8' })
        .split('\n')
        .sort();
    const rootfs = await storage.prepare({ sandbox, image }, never());
    const at = (path: string) => join(rootfs.path, path);
    rmSync(at('lib'), { recursive: true });
    mkdirSync(at('lib'));
    symlinkSync('../etc/hostname', at('lib/link'));
    writeFileSync(at('run.sh'), '#!/bin/sh\n');
    chmodSync(at('run.sh'), 0o4755);
    execFileSync('chown', ['1000:1001', at('run.sh')]);
    execFileSync('ln', [at('run.sh'), at('again.sh')]);
    execFileSync('setfattr', ['-n', 'user.mark', '-v', 'kept', at('run.sh')]);
    const before = describeTree(rootfs);
    await storage.snapshot(sandbox, snapshot, never());
    rmSync(at('etc'), { recursive: true });
    writeFileSync(at('lib/new'), 'x');
    const back = await storage.rollback(sandbox, snapshot, never());
    expect(describeTree(back)).toEqual(before);
    expect(
      execFileSync('getfattr', ['--only-values', '-n', 'user.mark', join(back.path, 'run.sh')], { encoding: 'utf8' }),
    ).toBe('kept');
  });

  test('what a killed process left half-made or half-deleted is removed, and nothing else', async () => {
    const { storage, image, pool } = await open();
    const kept = newId('sandbox');
    await storage.prepare({ sandbox: kept, image }, never());
    mkdirSync(join(pool, 'making', 'draft', 'changes'), { recursive: true });
    mkdirSync(join(pool, 'trash', 'old'), { recursive: true });
    expect([...(await storage.recover(never()))].sort()).toEqual(['making/draft', 'trash/old']);
    expect(await storage.recover(never())).toEqual([]);
    expect((await storage.list(never())).sandboxes).toEqual([kept]);
  });

  test.each(['before', 'between', 'after'] as const)(
    'a rollback killed %s its two moves leaves the old or the new tree, whole',
    async (moment) => {
      const { storage, image, pool, write, read, reopen } = await open();
      const [sandbox, snapshot] = [newId('sandbox'), newId('snapshot')];
      const rootfs = await storage.prepare({ sandbox, image }, never());
      await write(rootfs, 'state', 'new');
      await storage.snapshot(sandbox, snapshot, never());
      await write(rootfs, 'state', 'old');
      const place = join(pool, 'rootfs', sandbox);
      // What a rollback makes beside the old tree before it moves anything.
      const other = newId('sandbox');
      await storage.clone(snapshot, { sandbox: other }, never());
      await reopen();
      renameSync(join(pool, 'rootfs', other), `${place}.next`);
      if (moment !== 'before') renameSync(place, join(pool, 'trash', 'old'));
      if (moment === 'after') renameSync(`${place}.next`, place);
      const next = await reopen();
      await next.recover(never());
      expect((await next.list(never())).sandboxes).toEqual([sandbox]);
      const after = await next.prepare({ sandbox, image }, never());
      expect((await read(after)).state).toBe(moment === 'before' ? 'old' : 'new');
      expect(readdirSync(join(pool, 'trash'))).toEqual([]);
    },
  );

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
  const prepareAndMakeAhead = async ({ storage, image, pool }: Awaited<ReturnType<typeof overlay>>) => {
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

  test('to ask how it is disturbs nothing that is being made', async () => {
    const { storage, pool } = await open();
    await storage.recover(never());
    mkdirSync(join(pool, 'making', 'draft'));
    expect(await storage.probe(never())).toMatchObject({ usable: true });
    expect(drafts(pool)).toEqual(['draft']);
  });

  test('a layer may have any path', async () => {
    const { storage, image, pool, read } = await open();
    const odd = join(dirname(pool), 'a:b, "c"');
    mkdirSync(odd);
    writeFileSync(join(odd, 'file'), 'odd');
    const rootfs = await storage.prepare({ sandbox: newId('sandbox'), image: { ...image, layers: [odd] } }, never());
    expect(await read(rootfs)).toEqual({ file: 'odd' });
  });

  test('a rootfs with ids of its own shows them shifted, and keeps them as they are on disk', async () => {
    const { storage, image, pool, reopen } = await open();
    const [one, two, snapshot] = [newId('sandbox'), newId('sandbox'), newId('snapshot')];
    const first = await storage.prepare({ sandbox: one, image, ownIds: true, quotaBytes: 8_388_608 }, never());
    const owner = (path: string) => statSync(path).uid;
    expect(owner(join(first.path, 'etc/hostname'))).toBe(first.ids?.first);
    // As root inside would: its id outside is the first of the range.
    const script = `echo mine > ${first.path}/file && rm ${first.path}/lib/data`;
    execFileSync('setpriv', [
      `--reuid=${first.ids?.first}`,
      `--regid=${first.ids?.first}`,
      '--clear-groups',
      'sh',
      '-c',
      script,
    ]);
    expect(owner(join(pool, 'rootfs', one, 'changes/upper/file'))).toBe(0);
    await storage.snapshot(one, snapshot, never());
    for (const of of [one, snapshot]) {
      await storage.view(of, async ({ root }) => expect(owner(join(root, 'file'))).toBe(0), never());
    }
    const second = await storage.clone(snapshot, { sandbox: two, ownIds: true }, never());
    expect(second.ids?.first).not.toBe(first.ids?.first);
    expect(owner(join(second.path, 'file'))).toBe(second.ids?.first);
    expect(existsSync(join(second.path, 'lib/data'))).toBe(false);
    const next = await reopen();
    expect((await next.prepare({ sandbox: one, image }, never())).ids).toEqual(first.ids);
    await next.destroy(one, never());
    await next.destroy(two, never());
  });

  test('folders of the host are shown where the image says, and cannot be written', async () => {
    const { storage, image, pool } = await open();
    const source = join(dirname(pool), 'shown');
    mkdirSync(source);
    writeFileSync(join(source, 'file'), 'from the host');
    const binds = [{ source, target: '/lib' }];
    const rootfs = await storage.prepare(
      { sandbox: newId('sandbox'), image: { ...image, binds }, ownIds: true },
      never(),
    );
    expect(readFileSync(join(rootfs.path, 'lib/file'), 'utf8')).toBe('from the host');
    expect(statSync(join(rootfs.path, 'lib/file')).uid).toBe(rootfs.ids?.first);
    expect(() => writeFileSync(join(rootfs.path, 'lib/new'), '')).toThrow(/EROFS/);
  });

  test('what the pool holds is for its owner alone', async () => {
    const { storage, image, pool } = await open();
    await storage.prepare({ sandbox: newId('sandbox'), image }, never());
    expect(statSync(join(pool, 'rootfs')).mode & 0o077).toBe(0);
  });
});
