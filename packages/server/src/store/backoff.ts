/** The first pause; each further one is twice as long. Shorter ones only find a failure that has not had time to heal. */
const firstMs = 1_000;

/**
 * How long to wait after so many tries that failed, at most `longestMs`. Spread by a quarter each way: many that failed
 * together do not all come back together.
 */
export function backoffMs(tries: number, longestMs: number, random: number = Math.random()): number {
  const pause = Math.min(longestMs, firstMs * 2 ** Math.min(30, Math.max(0, tries - 1)));
  return Math.round(pause * (0.75 + random / 2));
}
