/** The first pause after a delivery failed; each further one is twice as long. Shorter ones find the same failure. */
const firstDelayMs = 1_000;
/** Longer ones leave people waiting after the other side is back. */
const longestDelayMs = 15 * 60_000;

/** About four hours from the first try to the last: a deployment that went wrong in the evening is noticed by then. */
export const maxTries = 24;

/** Spread by a quarter each way: many that failed together do not all come back together. */
export function retryDelayMs(tries: number, random: number = Math.random()): number {
  const delay = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(30, Math.max(0, tries - 1)));
  return Math.round(delay * (0.75 + random / 2));
}
