import { expect, test } from 'vitest';
import { IdRanges } from './id-ranges.ts';

test('no range is given twice, and none overlaps another', () => {
  const ranges = new IdRanges('a');
  const taken = Array.from({ length: 2_000 }, () => ranges.take());
  const firsts = new Set(taken.map((range) => range?.first));
  expect(firsts.size).toBe(2_000);
  for (const range of taken) {
    expect(range?.count).toBe(65_536);
    expect((range?.first ?? 0) % 65_536).toBe(0);
    expect((range?.first ?? 0) + 65_536).toBeLessThan(2 ** 32 - 1);
  }
});

test('a range that is marked is not given; one that is released is given again when the others are gone', () => {
  const [ranges, probe] = [new IdRanges('b'), new IdRanges('b')];
  const first = probe.take();
  if (!first) throw new Error('no range');
  ranges.mark(first);
  const all = new Set<number>();
  for (let range = ranges.take(); range; range = ranges.take()) all.add(range.first);
  expect(all.size).toBe(28_670);
  expect(all.has(first.first)).toBe(false);
  ranges.release(first);
  expect(ranges.take()).toEqual(first);
  expect(ranges.take()).toBeUndefined();
});
