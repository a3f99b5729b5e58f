import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { HostClient } from '@caisson/guest';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { skip } from '../../../test/conformance/skips.ts';
import { buildGuest } from '../../guest/build.mjs';
import { DataFolder } from './data-folder.ts';
import { mountsBelow, unmountBelow } from './storage/layered/mounts.ts';
import { chooseStorage, type StorageWanted } from './storage-choice.ts';

const never = new AbortController().signal;
const host = new HostClient(buildGuest({ quiet: true }));
let path: string;
let folder: DataFolder;

beforeEach((context) => {
  if (process.getuid?.() !== 0) skip(context, 'mounting needs root');
  path = mkdtempSync(join(tmpdir(), 'caisson-choice-'));
  chmodSync(path, 0o711);
  folder = DataFolder.open(path);
});
afterEach(async () => {
  folder?.close();
  await unmountBelow(host, path);
  rmSync(path, { recursive: true, force: true });
});
afterAll(() => host.close());

const choose = (wanted?: StorageWanted) => chooseStorage(folder, join(path, 'run'), host, wanted);
const image = () => ({ digest: `sha256:${'a'.repeat(64)}`, layers: [join(path, 'profiles')] });

test('takes btrfs where it can be used, says why, and remembers it', async () => {
  const { storage, why } = await choose();
  expect(storage.name).toBe('btrfs');
  expect(why).toContain('can be used here');
  expect(JSON.parse(readFileSync(join(path, 'storage.json'), 'utf8'))).toEqual({ storage: 'btrfs' });
  await storage.close?.();
});

test('takes what is asked for, and nothing that it does not know', async () => {
  expect((await choose({ name: 'overlay' })).storage.name).toBe('overlay');
  expect(existsSync(join(path, 'pool.btrfs'))).toBe(false);
  await expect(choose({ name: 'tape' })).rejects.toMatchObject({ code: 'request_invalid' });
  await expect(choose({ name: 'zfs' })).rejects.toMatchObject({ code: 'request_invalid' });
});

test.each(['overlay', 'btrfs'])('stays with %s where sandboxes lie on it, until they are gone', async (name) => {
  const sandbox = newId('sandbox');
  const other = name === 'overlay' ? 'btrfs' : 'overlay';
  const { storage } = await choose({ name });
  mkdirSync(join(path, 'profiles'), { recursive: true });
  await storage.prepare({ sandbox, image: image() }, never);
  // As after a restart of the machine.
  await storage.close?.();
  await unmountBelow(host, path);
  const again = await choose();
  expect([again.storage.name, again.why]).toEqual([name, 'this installation has sandboxes on it']);
  await expect(choose({ name: other })).rejects.toMatchObject({
    code: 'storage_failed',
    hint: expect.stringContaining(`--storage ${name}`),
  });
  await again.storage.destroy(sandbox, never);
  await again.storage.close?.();
  expect((await choose({ name: other })).storage.name).toBe(other);
});

test('a dataset of zfs that cannot be used is a reason, not an end', async () => {
  const { storage, why } = await choose({ zfsDataset: 'nowhere/caisson' });
  expect(storage.name).toBe('btrfs');
  expect(why).toContain('zfs cannot be used');
  await storage.close?.();
});

test('what a killed start left in a pool is swept by the next one, also where that takes another storage', async () => {
  const killed = (await choose({ name: 'btrfs' })).storage;
  await killed.recover(never);
  const trash = join(path, 'run', 'pool', 'trash', 'trial');
  mkdirSync(trash);
  const { storage } = await choose({ name: 'overlay' });
  expect(await mountsBelow(join(path, 'run'))).toEqual([]);
  // Those of the storage that is used are not touched.
  mkdirSync(join(path, 'profiles'), { recursive: true });
  const sandbox = newId('sandbox');
  const { path: root } = await storage.prepare({ sandbox, image: image() }, never);
  await choose({ name: 'overlay' });
  expect(await mountsBelow(root)).toEqual([root]);
  await unmountBelow(host, path);
  rmSync(join(path, 'storage', 'rootfs'), { recursive: true });
  const again = (await choose({ name: 'btrfs' })).storage;
  // Its point was still there, without any file of it.
  expect(await again.recover(never)).toEqual([sandbox]);
  await again.close?.();
});
