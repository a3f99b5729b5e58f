import { CaissonError } from '@caisson/contract';
import { expect, test } from 'vitest';
import { DiskLimit } from './disk-limit.ts';
import type { EngineFacts } from './engine-facts.ts';

const facts = (storageDriver: string, backingFilesystem?: string): EngineFacts => ({
  version: '1',
  os: 'linux',
  architecture: 'x64',
  processors: 1,
  runtimes: [],
  storageDriver,
  backingFilesystem,
  userNamespace: false,
});
const wanted = { diskMiB: 100, imageBytes: async () => 5 * 1024 ** 2 };

/** What each container was asked to have, on an engine that takes a limit or does not. */
async function asked(limit: DiskLimit, engine: EngineFacts, takes: boolean, want: typeof wanted = wanted) {
  const all: unknown[] = [];
  await limit.apply(engine, want, async (storage) => {
    all.push(storage);
    if (!takes && 'StorageOpt' in storage) throw new CaissonError('driver_failed', '--storage-opt needs pquota');
  });
  return all;
}

test('what counts the image too gets that on top', async () => {
  const limit = new DiskLimit();
  expect(limit.holds(facts('btrfs'))).toBe(true);
  expect(await asked(limit, facts('btrfs'), true)).toEqual([{ StorageOpt: { size: '105m' } }]);
  expect(await asked(limit, facts('zfs'), true)).toEqual([{ StorageOpt: { size: '100m' } }]);
});

test('overlay on xfs is tried once, and believed', async () => {
  const [xfs, can, cannot] = [facts('overlay2', 'xfs'), new DiskLimit(), new DiskLimit()];
  expect(can.holds(xfs)).toBe(false);
  await asked(can, xfs, true);
  expect(can.holds(xfs)).toBe(true);
  expect(await asked(cannot, xfs, false)).toEqual([{ StorageOpt: { size: '100m' } }, {}]);
  expect(await asked(cannot, xfs, false)).toEqual([{}]);
  expect(cannot.holds(xfs)).toBe(false);
});

test('nothing is asked of an engine that cannot, nor where nobody wants a limit', async () => {
  expect(await asked(new DiskLimit(), facts('overlay2', 'extfs'), true)).toEqual([{}]);
  const nothing = { ...wanted, diskMiB: undefined };
  expect(await asked(new DiskLimit(), facts('btrfs'), true, nothing as never)).toEqual([{}]);
});

test('an engine that should and fails otherwise is told as it is', async () => {
  const failing = new DiskLimit().apply(facts('btrfs'), wanted, async () => {
    throw new CaissonError('storage_full', 'no space left');
  });
  await expect(failing).rejects.toMatchObject({ code: 'storage_full' });
});
