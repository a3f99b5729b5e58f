import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

test('in any time there are no more than one second may have, and what the time adds', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), steps, (perSecond, waits) => {
      const bucket = new TokenBucket(perSecond, 0);
      let now = 0;
      let taken = 0;
      for (const wait of waits) {
        now += wait;
        if (bucket.tryTake(now)) taken += 1;
      }
      expect(taken).toBeLessThanOrEqual(perSecond + (now / 1000) * perSecond + 1e-6);
    }),
  );
});

test('what was used already says how long to rest', () => {
  const bucket = new TokenBucket(1000, 0);
  expect(bucket.spend(1000, 0)).toBe(0);
  expect(bucket.spend(500, 0)).toBe(500);
  expect(bucket.spend(0, 250)).toBe(250);
  expect(bucket.spend(0, 500)).toBe(0);
});

test('a clock that goes back gives nothing', () => {
  const bucket = new TokenBucket(1, 1000);
  expect(bucket.tryTake(1000)).toBe(true);
  expect(bucket.tryTake(0)).toBe(false);
});
