import { newId } from '@caisson/contract';
import { expect, test } from 'vitest';
import { SecretUses } from './secret-uses.ts';

const sandbox = newId('sandbox');

test('the first use is told at once, those of the minute after it together when it is over', () => {
  const uses = new SecretUses();
  uses.used(sandbox, 'token', 'a.example');
  expect(uses.take(0)).toEqual([{ sandbox, secret: 'token', host: 'a.example', count: 1 }]);
  for (let n = 0; n < 5; n += 1) uses.used(sandbox, 'token', 'a.example');
  expect(uses.take(59_999)).toEqual([]);
  expect(uses.take(60_000)).toMatchObject([{ count: 5 }]);
  expect(uses.take(200_000)).toEqual([]);
  expect(uses.isEmpty).toBe(true);
});

test('another secret, host or sandbox is told apart', () => {
  const uses = new SecretUses();
  uses.used(sandbox, 'token', 'a.example');
  uses.used(sandbox, 'other', 'a.example');
  uses.used(sandbox, 'token', 'b.example');
  uses.used(newId('sandbox'), 'token', 'a.example');
  expect(uses.take(0)).toHaveLength(4);
});

test('what could not be told is told the next time, with what came since', () => {
  const uses = new SecretUses();
  uses.used(sandbox, 'token', 'a.example');
  for (const use of uses.take(0)) uses.putBack(use);
  uses.used(sandbox, 'token', 'a.example');
  expect(uses.take(1)).toMatchObject([{ count: 2 }]);
});

test('at the end everything is told', () => {
  const uses = new SecretUses();
  uses.used(sandbox, 'token', 'a.example');
  uses.take(0);
  uses.used(sandbox, 'token', 'a.example');
  expect(uses.take(1, true)).toMatchObject([{ count: 1 }]);
});

test('more hosts than can be kept apart are counted together', () => {
  const uses = new SecretUses();
  for (let n = 0; n < 12_000; n += 1) uses.used(sandbox, 'token', `h${n}`);
  const told = uses.take(0);
  expect(told.length).toBeLessThanOrEqual(10_001);
  expect(told.find(({ host }) => host === '*')?.count).toBe(2_000);
});
