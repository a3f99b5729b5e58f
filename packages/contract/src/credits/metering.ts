import type { SandboxState } from '../lifecycle/states.ts';
import type { HourlyRates } from '../routing/prices.ts';

/**
 * What a sandbox costs in each state.
 *
 * - `waiting`: nothing of it runs yet. It costs nothing, and what running will cost is set aside.
 * - `running`, `paused`, `stopped`: as `HourlyRates` says. What failed is stopped.
 * - `ending`: it is being destroyed. It costs nothing, and what was set aside goes back.
 */
export const meterPhases = ['waiting', 'running', 'paused', 'stopped', 'ending'] as const;
export type MeterPhase = (typeof meterPhases)[number];

const phases: Record<SandboxState, MeterPhase> = {
  requested: 'waiting',
  building: 'waiting',
  provisioning: 'waiting',
  starting: 'waiting',
  ready: 'running',
  pausing: 'running',
  resuming: 'running',
  rolling_back: 'running',
  stopping: 'running',
  paused: 'paused',
  stopped: 'stopped',
  failed: 'stopped',
  destroying: 'ending',
  destroyed: 'ending',
};

export function phaseOf(state: SandboxState): MeterPhase {
  return phases[state];
}

/** Micro-units for an hour of a phase. */
export function rateOf(rates: HourlyRates, phase: MeterPhase): number {
  if (phase === 'waiting' || phase === 'ending') return 0;
  return rates[`${phase}Micros`];
}

/** What is set aside for: a sandbox that waits is going to run. */
export function aheadRateOf(rates: HourlyRates, phase: MeterPhase): number {
  return rateOf(rates, phase === 'waiting' ? 'running' : phase);
}

const hourMs = 3_600_000n;

/**
 * What a time costs in whole micro-units, and what is less than one, to be added the next time. However a time is cut
 * into pieces, its pieces cost as much as the whole.
 */
export function costOf(perHour: number, ms: number, remainder = 0): { micros: number; remainder: number } {
  // A price of 10^12 and a month are beyond what a number holds.
  const exact = BigInt(perHour) * BigInt(Math.max(0, Math.trunc(ms))) + BigInt(remainder);
  return { micros: Number(exact / hourMs), remainder: Number(exact % hourMs) };
}

/** What has to be there for a time: rounded up, so that it is enough. */
export function costAhead(perHour: number, ms: number): number {
  const { micros, remainder } = costOf(perHour, ms);
  return remainder > 0 ? micros + 1 : micros;
}
