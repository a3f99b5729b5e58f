import { newId } from '@caisson/contract';
import { expect, test } from 'vitest';
import { MemoryPool, type MemoryStep, MemoryStorage } from '../../packages/server/src/storage/memory/memory-storage.ts';
import { describeStorage } from './describe-storage.ts';

const imageFiles = { 'etc/hostname': 'caisson\n', 'bin/true': '#!' };
const image = { digest: `sha256:${'a'.repeat(64)}`, layers: [] };

function storageWithImage(): MemoryStorage {
  const pool = new MemoryPool();
  pool.images.set(image.digest, new Map(Object.entries(imageFiles)));
  return new MemoryStorage(pool);
}

describeStorage('memory', async () => {
  const storage = storageWithImage();
  return {
    storage,
    image,
    imageFiles,
    restart: async () => new MemoryStorage(storage.pool),
    write: async (rootfs, path, content) => storage.write(rootfs.sandbox, path, content),
    remove: async (rootfs, path) => storage.remove(rootfs.sandbox, path),
    read: async (rootfs) => storage.read(rootfs.sandbox),
    close: async () => {},
  };
});

const signal = () => new AbortController().signal;

const calls = (storage: MemoryStorage) => {
  const [sandbox, other, fresh] = [newId('sandbox'), newId('sandbox'), newId('sandbox')];
  const [snapshot, next] = [newId('snapshot'), newId('snapshot')];
  const run: Record<MemoryStep, (signal: AbortSignal) => Promise<unknown>> = {
    'prepare.before': (signal) => storage.prepare({ sandbox: fresh, image }, signal),
    'prepare.after': (signal) => storage.prepare({ sandbox: fresh, image }, signal),
    'snapshot.before': (signal) => storage.snapshot(sandbox, next, signal),
    'snapshot.after': (signal) => storage.snapshot(sandbox, next, signal),
    'rollback.before': (signal) => storage.rollback(sandbox, snapshot, signal),
    'rollback.after': (signal) => storage.rollback(sandbox, snapshot, signal),
    'clone.before': (signal) => storage.clone(snapshot, { sandbox: other }, signal),
    'clone.after': (signal) => storage.clone(snapshot, { sandbox: other }, signal),
    'view.before': (signal) => storage.view(snapshot, async () => {}, signal),
    'adopt.before': (signal) => storage.adopt({ id: next, sandbox, image }, async () => {}, signal),
    'adopt.after': (signal) => storage.adopt({ id: next, sandbox, image }, async () => {}, signal),
    'usage.before': (signal) => storage.usage(sandbox, signal),
    'quota.before': (signal) => storage.quota(sandbox, 1, signal),
    'destroy.before': (signal) => storage.destroy(sandbox, signal),
    'destroy.after': (signal) => storage.destroy(sandbox, signal),
    'removeSnapshot.before': (signal) => storage.removeSnapshot(snapshot, signal),
    'list.before': (signal) => storage.list(signal),
    'health.before': (signal) => storage.health(signal),
  };
  return { sandbox, snapshot, run };
};

const steps = Object.keys(calls(storageWithImage()).run) as MemoryStep[];

async function prepared() {
  const storage = storageWithImage();
  const made = calls(storage);
  await storage.prepare({ sandbox: made.sandbox, image }, signal());
  await storage.snapshot(made.sandbox, made.snapshot, signal());
  return { storage, ...made };
}

test.each(steps)('fails at %s when told to, and succeeds when asked again', async (step) => {
  const { storage, run } = await prepared();
  storage.faults.plan(step, { kind: 'fail' });
  await expect(run[step](signal())).rejects.toMatchObject({ code: 'storage_failed' });
  await run[step](signal());
});

test.each(steps)('hangs at %s when told to, until it is aborted', async (step) => {
  const { storage, run } = await prepared();
  storage.faults.plan(step, { kind: 'hang' });
  const abort = new AbortController();
  const hanging = run[step](abort.signal);
  expect(await Promise.race([hanging, Promise.resolve('still hanging')])).toBe('still hanging');
  abort.abort(new Error('enough'));
  await expect(hanging).rejects.toThrow('enough');
});

test.each(['prepare.after', 'rollback.after', 'snapshot.after', 'clone.before'] as const)(
  'vanishes at %s when told to',
  async (step) => {
    const { storage, run } = await prepared();
    const count = async () => {
      const { sandboxes, snapshots } = await storage.list(signal());
      return sandboxes.length + snapshots.length;
    };
    storage.faults.plan(step, { kind: 'vanish' });
    const before = await count();
    await run[step](signal()).catch(() => {});
    expect(await count()).toBe(step === 'prepare.after' || step === 'snapshot.after' ? before : before - 1);
  },
);

test('a full pool refuses what needs room, half-does nothing, and still lets go', async () => {
  const { storage, sandbox } = await prepared();
  storage.pool.totalBytes = storage.pool.usedBytes() + 2;
  expect(await storage.health(signal())).toMatchObject({ state: 'critical' });
  await expect(storage.snapshot(sandbox, newId('snapshot'), signal())).rejects.toMatchObject({ code: 'storage_full' });
  await expect(storage.prepare({ sandbox: newId('sandbox'), image }, signal())).rejects.toMatchObject({
    code: 'storage_full',
  });
  expect((await storage.list(signal())).snapshots).toHaveLength(1);
  await storage.destroy(sandbox, signal());
  expect((await storage.list(signal())).sandboxes).toEqual([]);
});
