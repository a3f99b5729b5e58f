import { leaseEnds } from '@caisson/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { extendedEnd, latestEnd } from './extension.ts';
import { defaultWarning, leaseTerms } from './lease-terms.ts';
import { possibleEnd } from './possible-end.ts';
import { RetryPauses } from './retry-pauses.ts';
import { WallClock } from './wall-clock.ts';

const seconds = fc.integer({ min: 1, max: 31_536_000 });
const maybe = fc.option(seconds, { nil: undefined });

test('no lease is longer than its profile allows, and no extension goes beyond', () => {
  fc.assert(
    fc.property(maybe, maybe, maybe, fc.array(seconds, { maxLength: 10 }), (asked, ttlSeconds, maxTtlSeconds, more) => {
      const lease = { ...(ttlSeconds ? { ttlSeconds } : {}), ...(maxTtlSeconds ? { maxTtlSeconds } : {}) };
      const terms = leaseTerms({ name: 'p', version: 1, lineage: [], lease }, { ttlSeconds: asked });
      if (maxTtlSeconds !== undefined) expect(terms.ttlSeconds).toBeLessThanOrEqual(maxTtlSeconds);
      if (terms.ttlSeconds === null) return;
      const latest = latestEnd(terms, 0) ?? Number.POSITIVE_INFINITY;
      let expiresAt = terms.ttlSeconds * 1000;
      for (const one of more) {
        try {
          const next = extendedEnd({ terms, expiresAt, begunAt: 0 }, one);
          expect(next).toBe(expiresAt + one * 1000);
          expiresAt = next;
        } catch (error) {
          expect(error).toMatchObject({ code: 'lease_max_reached' });
          expect(expiresAt + one * 1000).toBeGreaterThan(latest);
        }
        expect(expiresAt).toBeLessThanOrEqual(latest);
      }
    }),
  );
});

test('a lease without a maximum cannot be extended beyond every calendar', () => {
  const terms = leaseTerms({ name: 'p', version: 1, lineage: [], lease: { ttlSeconds: 60 } }, {});
  const late = Date.UTC(9998, 11, 31);
  expect(() => extendedEnd({ terms, expiresAt: late, begunAt: 0 }, 31_536_000)).toThrow(/at the latest/);
  expect(extendedEnd({ terms, expiresAt: late, begunAt: 0 }, 60)).toBe(late + 60_000);
});

test('a warning comes within the lease, and at most five minutes before its end', () => {
  fc.assert(
    fc.property(seconds, (ttl) => {
      const warning = defaultWarning(ttl);
      expect(warning).toBeGreaterThanOrEqual(1);
      expect(warning).toBeLessThanOrEqual(Math.min(300, ttl));
    }),
  );
});

test('whatever a backend cannot do, what is to be kept is not destroyed, and what it does it can', () => {
  fc.assert(
    fc.property(fc.constantFrom(...leaseEnds), fc.boolean(), fc.boolean(), (wanted, pauses, snapshots) => {
      const end = possibleEnd(wanted, { canPause: () => pauses, canSnapshot: () => snapshots });
      expect(leaseEnds.indexOf(end)).toBeGreaterThanOrEqual(wanted === 'pause' ? 2 : leaseEnds.indexOf(wanted));
      if (end === 'pause') expect(pauses).toBe(true);
      if (end === 'snapshot-then-destroy') expect(snapshots).toBe(true);
    }),
  );
});

test('every jump of the clock is noticed once and in full, and drift is none', () => {
  const step = fc.record({ passes: fc.nat(10_000), jumps: fc.integer({ min: -1e9, max: 1e9 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let [wall, steady, owed] = [1e12, 0, 0];
      const clock = new WallClock({ wall: () => wall, steady: () => steady });
      for (const { passes, jumps } of steps) {
        steady += passes;
        wall += passes + jumps;
        owed += jumps;
        const told = clock.jump();
        expect(told === 0 || told === owed).toBe(true);
        if (told === 0) expect(Math.abs(owed)).toBeLessThan(1_000);
        else owed = 0;
      }
    }),
  );
});

test('pauses double up to an hour, and end with the first success', () => {
  const pauses = new RetryPauses<string>();
  let now = 0;
  const waited: number[] = [];
  for (let n = 0; n < 15; n += 1) {
    pauses.failed('a', now);
    const ms = pauses.nextIn(now) ?? 0;
    expect(pauses.isPaused('a', now + ms - 1)).toBe(true);
    expect(pauses.isPaused('a', now + ms)).toBe(false);
    waited.push(ms);
    now += ms;
  }
  expect(waited.slice(0, 3)).toEqual([5_000, 10_000, 20_000]);
  expect(waited.at(-1)).toBe(3_600_000);
  pauses.forget('a');
  expect(pauses.nextIn(now)).toBeUndefined();
});
