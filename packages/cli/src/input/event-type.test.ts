import { expect, test } from 'vitest';
import { fullType } from './event-type.ts';

test('a type is told by its whole name or the end of it, and an unknown one names those there are', () => {
  expect(fullType('ready')).toBe('caisson.sandbox.ready');
  expect(fullType('caisson.sandbox.lease')).toBe('caisson.sandbox.lease');
  expect(() => fullType('nothing')).toThrow(/there are .*destroyed.*expiring/);
  expect(() => fullType('toString')).toThrow(/There is no type/);
});
