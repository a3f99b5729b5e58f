/**
 * A circuit breaker, as data and two functions. It is asked where a route is decided and told where a launch ends, which
 * are different parts at different times; libraries wrap one call instead, and their state is not a value.
 *
 * `closed` serves. After some failures in a row it is `open` and rejected, so that nobody waits for a backend that hangs.
 * When its pause is over it is `half-open`: one launch may try, and its end decides.
 */
export interface Breaker {
  readonly failures: number;
  readonly openUntil: number;
  readonly pauseMs: number;
  /** Since when one tries in the half-open state. */
  readonly tryingSince: number | null;
}

/** A single failure may be anything; this many in a row are the backend's own. */
export const maxFailures = 5;
const firstPauseMs = 10_000;
const longestPauseMs = 300_000;
/** A try that was never told of its end, because its server ended or its sandbox was destroyed, is not waited for longer. */
const tryMs = 180_000;

export const closedBreaker: Breaker = { failures: 0, openUntil: 0, pauseMs: firstPauseMs, tryingSince: null };

export type BreakerState = 'closed' | 'open' | 'half-open';

export function breakerState({ failures, openUntil, tryingSince }: Breaker, now: number): BreakerState {
  if (failures < maxFailures) return 'closed';
  if (now < openUntil) return 'open';
  return tryingSince !== null && now - tryingSince < tryMs ? 'open' : 'half-open';
}

export function afterBegin(breaker: Breaker, now: number): Breaker {
  return breakerState(breaker, now) === 'half-open' ? { ...breaker, tryingSince: now } : breaker;
}

export function afterFailure(breaker: Breaker, now: number): Breaker {
  const failures = Math.min(maxFailures, breaker.failures + 1);
  if (failures < maxFailures) return { ...breaker, failures };
  const wasOpen = breaker.failures >= maxFailures;
  // Launches that began before it opened end after it: each of them says nothing new.
  if (wasOpen && now < breaker.openUntil) return breaker;
  const pauseMs = wasOpen ? Math.min(longestPauseMs, breaker.pauseMs * 2) : firstPauseMs;
  return { failures, openUntil: now + pauseMs, pauseMs, tryingSince: null };
}

/** The end of a launch that says nothing about its backend: whoever tries next is the try. */
export function afterNothing(breaker: Breaker): Breaker {
  return breaker.tryingSince === null ? breaker : { ...breaker, tryingSince: null };
}
