import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Id, newId } from '@caisson/contract';
import { afterEach, describe, expect, test } from 'vitest';
import { type ImageLayers, poolState, type Rootfs, type Storage } from '../../packages/server/src/storage/storage.ts';
import { type DeclaredSkip, withSkips } from './skips.ts';

/** What a storage under test brings along: an image, and hands that reach into a root filesystem. */
export interface StorageUnderTest {
  readonly storage: Storage;
  readonly image: ImageLayers;
  /** What the image contains: path and content. */
  readonly imageFiles: Readonly<Record<string, string>>;
  /** A storage in a new process over the same pool. */
  restart(): Promise<Storage>;
  write(rootfs: Rootfs, path: string, content: string): Promise<void>;
  remove(rootfs: Rootfs, path: string): Promise<void>;
  /** Every file in it with its content. */
  read(rootfs: Rootfs): Promise<Record<string, string>>;
  close(): Promise<void>;
}

/** One suite for every storage: the laws of storage.ts, one test each. */
export function describeStorage(
  name: string,
  make: () => Promise<StorageUnderTest>,
  options: { skip?: readonly DeclaredSkip[] } = {},
): void {
  const skips = withSkips(options.skip ?? []);
  const never = new AbortController().signal;
  const opened: StorageUnderTest[] = [];

  async function open(): Promise<StorageUnderTest> {
    const made = await make();
    opened.push(made);
    return made;
  }

  function law(title: string, body: () => Promise<void>): void {
    skips.know(title);
    test(title, async (context) => {
      skips.begin(title, context);
      await body();
    });
  }

  const sandboxId = (): Id<'sandbox'> => newId('sandbox');
  const snapshotId = (): Id<'snapshot'> => newId('snapshot');

  describe(`storage ${name}`, () => {
    afterEach(async () => {
      for (const made of opened.splice(0)) await made.close();
    });

    law('is usable and has nothing to recover when it is new', async () => {
      const { storage } = await open();
      expect(await storage.probe(never)).toMatchObject({ usable: true });
      expect(await storage.recover(never)).toEqual([]);
    });

    law('prepares the tree of the image, the same rootfs however often it is asked', async () => {
      const { storage, image, imageFiles, read, write } = await open();
      const sandbox = sandboxId();
      const rootfs = await storage.prepare({ sandbox, image }, never);
      expect(await read(rootfs)).toEqual(imageFiles);
      await write(rootfs, 'mine', 'kept');
      const again = await storage.prepare({ sandbox, image }, never);
      expect(again.path).toBe(rootfs.path);
      expect(await read(again)).toEqual({ ...imageFiles, mine: 'kept' });
    });

    law('prepares a rootfs while a server that just started removes others', async () => {
      const { storage, image, restart } = await open();
      const others = Array.from({ length: 20 }, sandboxId);
      for (const sandbox of others) await storage.prepare({ sandbox, image, ownIds: true }, never);
      for (const [round, other] of others.entries()) {
        const again = await restart();
        const sandbox = sandboxId();
        // Not always at the same point of it.
        const later = new Promise((resolve) => setTimeout(resolve, round / 4));
        const preparing = later.then(() => again.prepare({ sandbox, image, ownIds: true }, never));
        await Promise.all([again.destroy(other, never), preparing]);
        expect((await again.list(never)).sandboxes).toContain(sandbox);
      }
    });

    law('keeps two sandboxes of one image apart, and the image untouched', async () => {
      const { storage, image, imageFiles, read, write, remove } = await open();
      const [firstFile = ''] = Object.keys(imageFiles);
      const one = await storage.prepare({ sandbox: sandboxId(), image }, never);
      const two = await storage.prepare({ sandbox: sandboxId(), image }, never);
      await write(one, firstFile, 'changed');
      await remove(two, firstFile);
      const three = await storage.prepare({ sandbox: sandboxId(), image }, never);
      expect((await read(one))[firstFile]).toBe('changed');
      expect(await read(two)).not.toHaveProperty([firstFile]);
      expect(await read(three)).toEqual(imageFiles);
    });

    law('refuses an image that it does not have', async () => {
      const { storage, image } = await open();
      const unknown = { ...image, digest: `sha256:${'0'.repeat(64)}`, layers: ['/nonexistent/layer'] };
      await expect(storage.prepare({ sandbox: sandboxId(), image: unknown }, never)).rejects.toMatchObject({
        code: 'image_not_found',
      });
      expect((await storage.list(never)).sandboxes).toEqual([]);
    });

    law('rolls back to exactly the tree of the snapshot, and keeps later snapshots', async () => {
      const { storage, image, read, write, remove } = await open();
      const sandbox = sandboxId();
      const rootfs = await storage.prepare({ sandbox, image }, never);
      await write(rootfs, 'a', '1');
      const early = snapshotId();
      await storage.snapshot(sandbox, early, never);
      const before = await read(rootfs);
      await write(rootfs, 'a', '2');
      await write(rootfs, 'b', 'new');
      for (const path of Object.keys(before)) if (path !== 'a') await remove(rootfs, path);
      const late = snapshotId();
      await storage.snapshot(sandbox, late, never);
      const after = await read(rootfs);

      expect(await read(await storage.rollback(sandbox, early, never))).toEqual(before);
      expect(await read(await storage.rollback(sandbox, late, never))).toEqual(after);
    });

    law('takes one snapshot for one id, however often it is asked', async () => {
      const { storage, image, read, write } = await open();
      const sandbox = sandboxId();
      const rootfs = await storage.prepare({ sandbox, image }, never);
      const snapshot = snapshotId();
      await storage.snapshot(sandbox, snapshot, never);
      const before = await read(rootfs);
      await write(rootfs, 'later', 'x');
      await storage.snapshot(sandbox, snapshot, never);
      expect(await read(await storage.rollback(sandbox, snapshot, never))).toEqual(before);
    });

    law('clones a snapshot whose sandbox is gone, and the clone is its own', async () => {
      const { storage, image, read, write } = await open();
      const sandbox = sandboxId();
      const rootfs = await storage.prepare({ sandbox, image }, never);
      await write(rootfs, 'a', '1');
      const snapshot = snapshotId();
      await storage.snapshot(sandbox, snapshot, never);
      const expected = await read(rootfs);
      await storage.destroy(sandbox, never);

      const one = await storage.clone(snapshot, { sandbox: sandboxId() }, never);
      const two = await storage.clone(snapshot, { sandbox: sandboxId() }, never);
      await write(one, 'a', 'mine');
      expect(await read(two)).toEqual(expected);
      expect((await read(one)).a).toBe('mine');
    });

    law('refuses to roll back or clone what does not exist', async () => {
      const { storage, image } = await open();
      const sandbox = sandboxId();
      await storage.prepare({ sandbox, image }, never);
      await expect(storage.rollback(sandbox, snapshotId(), never)).rejects.toMatchObject({
        code: 'snapshot_not_found',
      });
      await expect(storage.clone(snapshotId(), { sandbox: sandboxId() }, never)).rejects.toMatchObject({
        code: 'snapshot_not_found',
      });
    });

    law('lists what there is and nothing else, also after a restart', async () => {
      const made = await open();
      const { storage, image } = made;
      const [kept, dropped] = [sandboxId(), sandboxId()];
      const [snapshot, removed] = [snapshotId(), snapshotId()];
      await storage.prepare({ sandbox: kept, image }, never);
      await storage.prepare({ sandbox: dropped, image }, never);
      await storage.snapshot(dropped, snapshot, never);
      await storage.snapshot(kept, removed, never);
      await storage.destroy(dropped, never);
      await storage.removeSnapshot(removed, never);
      const restarted = await made.restart();
      await restarted.recover(never);
      expect(await restarted.list(never)).toEqual({
        sandboxes: [kept],
        snapshots: [snapshot],
      });
    });

    law('destroys what is not there without complaint', async () => {
      const { storage } = await open();
      await storage.destroy(sandboxId(), never);
      await storage.removeSnapshot(snapshotId(), never);
    });

    law('does in one still moment what must see the sandbox unchanging, once', async () => {
      const { storage, image, read, write } = await open();
      const [sandbox, snapshot] = [sandboxId(), snapshotId()];
      const rootfs = await storage.prepare({ sandbox, image }, never);
      await write(rootfs, 'before', '1');
      let moments = 0;
      await storage.snapshot(sandbox, snapshot, never, async (step) => {
        moments += 1;
        await write(rootfs, 'at the last moment', '2');
        const done = await step();
        await write(rootfs, 'after', '3');
        return done;
      });
      expect(moments).toBe(1);
      const tree = await read(await storage.clone(snapshot, { sandbox: sandboxId() }, never));
      expect(tree).toMatchObject({ before: '1', 'at the last moment': '2' });
      expect(tree).not.toHaveProperty('after');
    });

    law('takes no snapshot when the sandbox cannot be still', async () => {
      const { storage, image, read } = await open();
      const sandbox = sandboxId();
      const rootfs = await storage.prepare({ sandbox, image }, never);
      const restless = () => Promise.reject(new Error('it will not stop'));
      await expect(storage.snapshot(sandbox, snapshotId(), never, restless)).rejects.toThrow('it will not stop');
      expect((await storage.list(never)).snapshots).toEqual([]);
      expect(await read(rootfs)).toHaveProperty(['etc/hostname']);
    });

    law('shows the tree of a snapshot and of a sandbox, and what changed since the image', async () => {
      const { storage, image, imageFiles, write, remove } = await open();
      const [firstFile = '', ...others] = Object.keys(imageFiles);
      const [sandbox, snapshot] = [sandboxId(), snapshotId()];
      const rootfs = await storage.prepare({ sandbox, image }, never);
      await write(rootfs, 'mine', '1');
      await remove(rootfs, firstFile);
      await storage.snapshot(sandbox, snapshot, never);
      await write(rootfs, 'mine', '2');
      for (const [of, mine] of [
        [snapshot, '1'],
        [sandbox, '2'],
      ] as const) {
        const shown = await storage.view(
          of,
          async (view) => {
            expect(view.image).toMatchObject({ digest: image.digest, layers: image.layers });
            expect(readdirSync(view.changes).sort()).toEqual([firstFile.split('/')[0], 'mine'].sort());
            const hidden = lstatSync(join(view.changes, firstFile));
            expect([hidden.isCharacterDevice(), hidden.rdev]).toEqual([true, 0]);
            expect(existsSync(join(view.root, firstFile))).toBe(false);
            for (const path of others) expect(readFileSync(join(view.root, path), 'utf8')).toBe(imageFiles[path]);
            expect(statSync(join(view.root, 'mine')).uid).toBe(0);
            return { text: readFileSync(join(view.root, 'mine'), 'utf8'), root: view.root };
          },
          never,
        );
        expect(shown.text).toBe(mine);
        expect(existsSync(shown.root)).toBe(false);
      }
      await expect(storage.view(snapshotId(), async () => {}, never)).rejects.toMatchObject({
        code: 'snapshot_not_found',
      });
    });

    law('keeps a snapshot while somebody looks at it, and shows it to nobody who comes later', async () => {
      const { storage, image, write } = await open();
      const [sandbox, snapshot] = [sandboxId(), snapshotId()];
      await write(await storage.prepare({ sandbox, image }, never), 'a', '1');
      await storage.snapshot(sandbox, snapshot, never);
      let removing: Promise<void> | undefined;
      await storage.view(
        snapshot,
        async ({ root }) => {
          removing = storage.removeSnapshot(snapshot, never);
          await new Promise((resolve) => setTimeout(resolve, 20));
          expect(readFileSync(join(root, 'a'), 'utf8')).toBe('1');
        },
        never,
      );
      const late = storage.view(snapshot, async () => {}, never);
      await expect(late).rejects.toMatchObject({ code: 'snapshot_not_found' });
      await removing;
      expect((await storage.list(never)).snapshots).toEqual([]);
    });

    law('adopts changes of elsewhere as a snapshot, or nothing of them', async () => {
      const { storage, image, imageFiles, read, write, remove } = await open();
      const [firstFile = ''] = Object.keys(imageFiles);
      const [sandbox, snapshot, adopted] = [sandboxId(), snapshotId(), snapshotId()];
      const rootfs = await storage.prepare({ sandbox, image }, never);
      await write(rootfs, 'mine', '1');
      await remove(rootfs, firstFile);
      await storage.snapshot(sandbox, snapshot, never);
      const request = { id: adopted, sandbox, image };
      const fail = async (changes: string) => {
        writeFileSync(join(changes, 'half'), '');
        throw new Error('the sender went away');
      };
      await expect(storage.adopt(request, fail, never)).rejects.toThrow('the sender went away');
      expect((await storage.list(never)).snapshots).toEqual([snapshot]);
      await storage.view(
        snapshot,
        ({ changes }) =>
          storage.adopt(request, async (to) => void execFileSync('cp', ['-a', `${changes}/.`, to]), never),
        never,
      );
      expect((await storage.list(never)).snapshots.toSorted()).toEqual([snapshot, adopted].sort());
      const clone = await storage.clone(adopted, { sandbox: sandboxId() }, never);
      expect(await read(clone)).toEqual(await read(rootfs));
      const unknown = { ...image, digest: `sha256:${'0'.repeat(64)}`, layers: ['/nonexistent/layer'] };
      const stranger = { id: snapshotId(), sandbox, image: unknown };
      await expect(storage.adopt(stranger, async () => {}, never)).rejects.toMatchObject({ code: 'image_not_found' });
    });

    law('counts what a sandbox holds', async () => {
      const { storage, image, write } = await open();
      const sandbox = sandboxId();
      const rootfs = await storage.prepare({ sandbox, image }, never);
      const before = await storage.usage(sandbox, never);
      await write(rootfs, 'big', 'x'.repeat(100_000));
      const after = await storage.usage(sandbox, never);
      expect(after.exclusiveBytes - before.exclusiveBytes).toBeGreaterThanOrEqual(100_000);
    });

    law('enforces a quota, and lifts it', async () => {
      const { storage, image, write, remove, read } = await open();
      const sandbox = sandboxId();
      const quotaBytes = 8 * 1024 * 1024;
      const big = 'x'.repeat(12 * 1024 * 1024);
      if (!storage.capabilities.quota) {
        await storage.prepare({ sandbox, image }, never);
        return expect(storage.quota(sandbox, quotaBytes, never)).rejects.toMatchObject({ code: 'quota_not_available' });
      }
      const rootfs = await storage.prepare({ sandbox, image, quotaBytes }, never);
      expect((await storage.usage(sandbox, never)).quotaBytes).toBe(quotaBytes);
      await expect(write(rootfs, 'big', big)).rejects.toThrow();
      // Who is at the limit can make room.
      await remove(rootfs, 'big').catch(() => {}); // Memory wrote nothing of it.
      await write(rootfs, 'small', 'fits');
      await storage.quota(sandbox, 64 * 1024 * 1024, never);
      await write(rootfs, 'big', big);
      expect(await read(rootfs)).toMatchObject({ small: 'fits', big });
    });

    law('keeps the quota of a sandbox over a rollback and a restart', async () => {
      const made = await open();
      const { storage, image, write } = made;
      if (!storage.capabilities.quota) return;
      const sandbox = sandboxId();
      const snapshot = snapshotId();
      await storage.prepare({ sandbox, image, quotaBytes: 8 * 1024 * 1024 }, never);
      await storage.snapshot(sandbox, snapshot, never);
      await storage.rollback(sandbox, snapshot, never);
      const restarted = await made.restart();
      const rootfs = await restarted.prepare({ sandbox, image }, never);
      await expect(write(rootfs, 'big', 'x'.repeat(12 * 1024 * 1024))).rejects.toThrow();
    });

    law('tells the health of its pool', async () => {
      const { storage } = await open();
      const health = await storage.health(never);
      expect(health.freeBytes).toBeLessThanOrEqual(health.totalBytes);
      expect(health.state).toBe(poolState(health.totalBytes, health.freeBytes));
    });

    law('refuses to begin when it is already aborted, and leaves nothing', async () => {
      const { storage, image } = await open();
      await expect(storage.prepare({ sandbox: sandboxId(), image }, AbortSignal.abort())).rejects.toThrow();
      expect((await storage.list(never)).sandboxes).toEqual([]);
    });

    test('every declared skip names a test of this suite', () => expect(skips.unknown()).toEqual([]));
  });
}
