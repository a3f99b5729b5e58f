import { backoffMs } from '../store/backoff.ts';

/** Longer ones leave people waiting after the other side is back. */
const longestDelayMs = 15 * 60_000;

/** About four hours from the first try to the last: a deployment that went wrong in the evening is noticed by then. */
export const maxTries = 24;

export function retryDelayMs(tries: number, random?: number): number {
  return backoffMs(tries, longestDelayMs, random);
}
