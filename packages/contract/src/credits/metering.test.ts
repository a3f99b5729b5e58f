import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sandboxStates } from '../lifecycle/states.ts';
import { aheadRateOf, costAhead, costOf, meterPhases, phaseOf, rateOf } from './metering.ts';

const price = fc.integer({ min: 0, max: 1_000_000_000_000 });
const rates = { runningMicros: 30, pausedMicros: 20, stoppedMicros: 10 };

test('a time costs as much as the pieces it is cut into', () => {
  fc.assert(
    fc.property(price, fc.array(fc.integer({ min: 0, max: 100_000_000 }), { maxLength: 50 }), (perHour, pieces) => {
      let [sum, remainder] = [0, 0];
      for (const ms of pieces) {
        const piece = costOf(perHour, ms, remainder);
        sum += piece.micros;
        remainder = piece.remainder;
      }
      const total = pieces.reduce((all, ms) => all + ms, 0);
      expect({ micros: sum, remainder }).toEqual(costOf(perHour, total));
    }),
  );
});

test('what is set aside for a time is enough for it, and less than a micro-unit too much', () => {
  fc.assert(
    fc.property(price, fc.integer({ min: 0, max: 100_000_000 }), (perHour, ms) => {
      const { micros } = costOf(perHour, ms);
      expect([micros, micros + 1]).toContain(costAhead(perHour, ms));
      expect(costOf(perHour, ms, 0).micros).toBeLessThanOrEqual(costAhead(perHour, ms));
    }),
  );
});

test('a clock that was put back costs nothing', () => {
  expect(costOf(1_000, -5_000, 7)).toEqual({ micros: 0, remainder: 7 });
});

test('each state has a phase, and what waits is set aside for what runs', () => {
  for (const state of sandboxStates) expect(meterPhases).toContain(phaseOf(state));
  expect(meterPhases.map((phase) => rateOf(rates, phase))).toEqual([0, 30, 20, 10, 0]);
  expect(meterPhases.map((phase) => aheadRateOf(rates, phase))).toEqual([30, 30, 20, 10, 0]);
});
