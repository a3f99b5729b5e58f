import fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterBegin, afterFailure, type Breaker, breakerState, closedBreaker, maxFailures } from './breaker.ts';

const open = (now = 0): Breaker =>
  Array.from({ length: maxFailures }).reduce<Breaker>((breaker) => afterFailure(breaker, now), closedBreaker);

test('it opens after so many failures in a row, and not before', () => {
  let breaker = closedBreaker;
  for (let count = 1; count < maxFailures; count += 1) {
    breaker = afterFailure(breaker, 0);
    expect(breakerState(breaker, 0)).toBe('closed');
  }
  breaker = afterFailure(breaker, 0);
  expect(breakerState(breaker, 0)).toBe('open');
});

test('when its pause is over one may try, and nobody else meanwhile', () => {
  const half = open();
  expect(breakerState(half, half.openUntil)).toBe('half-open');
  const trying = afterBegin(half, half.openUntil);
  expect(breakerState(trying, half.openUntil)).toBe('open');
  expect(breakerState(trying, half.openUntil + 3_600_000)).toBe('half-open');
});

test('a try that fails makes the pause longer, up to a bound', () => {
  let breaker = open();
  const pauses: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    const now = breaker.openUntil;
    breaker = afterFailure(afterBegin(breaker, now), now);
    pauses.push(breaker.pauseMs);
  }
  expect(pauses.slice(0, 2)).toEqual([20_000, 40_000]);
  expect(Math.max(...pauses)).toBe(300_000);
});

test('failures of launches that began before it opened make nothing longer', () => {
  const breaker = open(1_000);
  expect(afterFailure(breaker, 2_000)).toEqual(breaker);
});

test('whatever happens, it is never open for good', () => {
  const stepArb = fc.record({ does: fc.constantFrom('begin', 'fail', 'succeed'), ms: fc.nat(400_000) });
  fc.assert(
    fc.property(fc.array(stepArb, { maxLength: 60 }), (steps) => {
      let now = 0;
      let breaker = closedBreaker;
      for (const { does, ms } of steps) {
        now += ms;
        if (does === 'begin') breaker = afterBegin(breaker, now);
        else breaker = does === 'fail' ? afterFailure(breaker, now) : closedBreaker;
      }
      expect(breakerState(breaker, now + 600_000)).not.toBe('open');
    }),
  );
});
