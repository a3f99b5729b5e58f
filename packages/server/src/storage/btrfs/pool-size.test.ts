import { expect, test } from 'vitest';
import { firstSize, isShort, largerSize } from './pool-size.ts';

const gib = 1024 ** 3;
const disk = (totalGib: number, freeGib: number) => ({ totalBytes: totalGib * gib, freeBytes: freeGib * gib });

test('a pool begins with half of what is free, and never too small for its own trees', () => {
  expect(firstSize(disk(250, 80))).toBe(40 * gib);
  expect(firstSize(disk(250, 0.1))).toBe(gib / 4);
});

test('a pool is short when a quarter is left, well before it is degraded', () => {
  expect(isShort(disk(40, 11))).toBe(false);
  expect(isShort(disk(40, 9))).toBe(true);
});

test('a pool grows by half, as far as the disk has more than it has promised already', () => {
  expect(largerSize(disk(40, 8), disk(250, 100))).toBe(60 * gib);
  // 20 free, 12.5 of them for others, 2 promised to the pool.
  expect(largerSize(disk(40, 2), disk(250, 20))).toBe(45.5 * gib);
  expect(largerSize(disk(40, 8), disk(250, 20))).toBeUndefined();
});
