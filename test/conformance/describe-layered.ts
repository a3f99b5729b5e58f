import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { newId } from '@caisson/contract';
import { afterEach, describe, expect, test } from 'vitest';
import type { Rootfs } from '../../packages/server/src/storage/storage.ts';
import { isRoot, type LayeredKind, type LayeredWorld, layeredWorld } from './layered-world.ts';

const never = () => new AbortController().signal;

/** What holds for every storage of layers and changes, beyond the laws of all storages. */
export function describeLayered(kind: LayeredKind): void {
  describe.runIf(isRoot)(`layered storage ${kind.name}`, () => {
    const made: LayeredWorld[] = [];
    const open = async () => {
      const one = await layeredWorld(kind);
      made.push(one);
      return one;
    };
    afterEach(async () => {
      for (const one of made.splice(0)) await one.close();
    });

    test('tells which images its files stand on, for as long as a sandbox or a snapshot does', async () => {
      const { storage, image } = await open();
      const [sandbox, snapshot] = [newId('sandbox'), newId('snapshot')];
      const named = async () => (await storage.images?.(never()))?.map(({ digest, layers }) => ({ digest, layers }));
      const own = { digest: image.digest, layers: image.layers };
      expect(await named()).toEqual([]);
      await storage.prepare({ sandbox, image }, never());
      expect(await named()).toEqual([own]);
      await storage.snapshot(sandbox, snapshot, never());
      await storage.destroy(sandbox, never());
      expect(await named()).toEqual([own]);
      await storage.removeSnapshot(snapshot, never());
      expect(await named()).toEqual([]);
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
        const { storage, image, pool, write, read, restart } = await open();
        const [sandbox, snapshot] = [newId('sandbox'), newId('snapshot')];
        const rootfs = await storage.prepare({ sandbox, image }, never());
        await write(rootfs, 'state', 'new');
        await storage.snapshot(sandbox, snapshot, never());
        await write(rootfs, 'state', 'old');
        const place = join(pool, 'rootfs', sandbox);
        // What a rollback makes beside the old tree before it moves anything.
        const other = newId('sandbox');
        await storage.clone(snapshot, { sandbox: other }, never());
        await (await restart()).list(never());
        renameSync(join(pool, 'rootfs', other), `${place}.next`);
        if (moment !== 'before') renameSync(place, join(pool, 'trash', 'old'));
        if (moment === 'after') renameSync(`${place}.next`, place);
        const next = await restart();
        await next.recover(never());
        expect((await next.list(never())).sandboxes).toEqual([sandbox]);
        const after = await next.prepare({ sandbox, image }, never());
        expect((await read(after)).state).toBe(moment === 'before' ? 'old' : 'new');
        expect(readdirSync(join(pool, 'trash'))).toEqual([]);
      },
    );

    test('to ask how it is disturbs nothing that is being made', async () => {
      const { storage, pool } = await open();
      await storage.recover(never());
      mkdirSync(join(pool, 'making', 'draft'));
      expect(await storage.probe(never())).toMatchObject({ usable: true });
      expect(readdirSync(join(pool, 'making'))).toEqual(['draft']);
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
      const { storage, image, pool, restart } = await open();
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
      const next = await restart();
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
}
