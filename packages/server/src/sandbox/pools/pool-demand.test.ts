import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PoolDemand, wantedSize } from './pool-demand.ts';

const minute = 60_000;

test('each request counts one, and half as much a minute later', () => {
  const demand = new PoolDemand();
  for (let n = 0; n < 8; n += 1) demand.add(1_000);
  expect(demand.at(1_000)).toBe(8);
  expect(demand.at(1_000 + minute)).toBe(4);
  demand.add(1_000 + minute);
  expect(demand.at(1_000 + 2 * minute)).toBe(2.5);
});

test('a clock that goes back raises nothing', () => {
  const demand = new PoolDemand();
  demand.add(10 * minute);
  expect(demand.at(0)).toBe(1);
});

test('a pool grows with what is asked for and shrinks again', () => {
  const bounds = { min: 1, max: 5 };
  expect([0, 0.4, 3.2, 99].map((demand) => wantedSize(bounds, demand))).toEqual([1, 1, 3, 5]);
  expect(wantedSize({ min: 0, max: 0 }, 99)).toBe(0);
});

test('its size is always within the bounds', () => {
  const bounds = fc.tuple(fc.nat(1000), fc.nat(1000)).map(([a, b]) => ({ min: Math.min(a, b), max: Math.max(a, b) }));
  fc.assert(
    fc.property(bounds, fc.double({ min: 0, max: 1e6, noNaN: true }), (within, demand) => {
      const size = wantedSize(within, demand);
      expect(size).toBeGreaterThanOrEqual(within.min);
      expect(size).toBeLessThanOrEqual(within.max);
    }),
  );
});
