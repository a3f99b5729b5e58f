import fc from 'fast-check';
import { expect, test } from 'vitest';
import { knownMs, type LatencyMean, withSample } from './latency.ts';

const minute = 60_000;

test('a mean lies between the least and the most that was measured', () => {
  const samples = fc.array(fc.record({ ms: fc.integer({ min: 1, max: 10_000 }), pause: fc.nat(minute) }), {
    minLength: 1,
    maxLength: 50,
  });
  fc.assert(
    fc.property(samples, (list) => {
      let now = 0;
      let mean: LatencyMean | undefined;
      for (const { ms, pause } of list) {
        now += pause;
        mean = withSample(mean, ms, now);
      }
      const known = knownMs(mean, now) ?? Number.NaN;
      expect(known).toBeGreaterThanOrEqual(Math.min(...list.map(({ ms }) => ms)) - 0.1);
      expect(known).toBeLessThanOrEqual(Math.max(...list.map(({ ms }) => ms)) + 0.1);
    }),
  );
});

test('what is newer counts more, and more so the longer ago the rest was', () => {
  let slow: LatencyMean | undefined;
  for (let count = 0; count < 10; count += 1) slow = withSample(slow, 1_000, 0);
  const soon = knownMs(withSample(slow, 10, minute), minute) ?? 0;
  const later = knownMs(withSample(slow, 10, 60 * minute), 60 * minute) ?? 0;
  expect(later).toBeLessThan(soon);
  expect(soon).toBeLessThan(1_000);
});

test('what was measured long ago is not known any more', () => {
  const mean = withSample(undefined, 40, 0);
  expect(knownMs(mean, 30 * minute)).toBe(40);
  expect(knownMs(mean, 120 * minute)).toBeNull();
  expect(knownMs(undefined, 0)).toBeNull();
});
