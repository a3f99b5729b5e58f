import { localOwner } from '@caisson/contract';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openStore, type Store } from '../store/store.ts';
import { Keys } from './keys.ts';

const request = { name: 'ci', owner: localOwner, scope: 'use' } as const;

let store: Store;
beforeEach(async () => {
  store = await openStore({ sqlite: ':memory:' });
});
afterEach(() => store.close());

test('whether there are keys is read once, and again after one was made or revoked', async () => {
  const keys = new Keys(store);
  const read = vi.spyOn(store.keys, 'any');
  expect([await keys.configured(), await keys.configured()]).toEqual([false, false]);
  expect(read).toHaveBeenCalledTimes(1);
  const [one, two] = [await keys.create(request), await keys.create(request)];
  expect([await keys.configured(), await keys.configured()]).toEqual([true, true]);
  await keys.revoke(one.id);
  expect(await keys.configured()).toBe(true);
  await keys.revoke(two.id);
  expect(await keys.configured()).toBe(false);
});

test('a key that is made while it is being read counts afterwards', async () => {
  const keys = new Keys(store);
  const read = vi.spyOn(store.keys, 'any');
  let answer: (found: boolean) => void = () => {};
  read.mockReturnValueOnce(new Promise((resolve) => (answer = resolve)));
  const asked = keys.configured();
  await keys.create(request);
  answer(false);
  await asked;
  expect(await keys.configured()).toBe(true);
});

test('a key whose making failed may be there all the same', async () => {
  const keys = new Keys(store);
  expect(await keys.configured()).toBe(false);
  const { create } = store.keys;
  vi.spyOn(store.keys, 'create').mockImplementationOnce(async (key) => {
    await create.call(store.keys, key);
    throw new Error('the connection broke after the commit');
  });
  await expect(keys.create(request)).rejects.toThrow('the connection broke');
  expect(await keys.configured()).toBe(true);
});
