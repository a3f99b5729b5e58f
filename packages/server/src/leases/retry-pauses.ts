/** The first pause after a lease could not be ended, doubled each time up to the longest: each try leaves events behind. */
const firstPauseMs = 5_000;
const longestPauseMs = 3_600_000;

/** What could not be done, and when it is tried again. In steady time: a clock that is set neither hastens nor delays it. */
export class RetryPauses<Key> {
  readonly #pauses = new Map<Key, { until: number; ms: number }>();

  get size(): number {
    return this.#pauses.size;
  }

  failed(key: Key, now: number): void {
    const ms = Math.min(longestPauseMs, (this.#pauses.get(key)?.ms ?? firstPauseMs / 2) * 2);
    this.#pauses.set(key, { until: now + ms, ms });
  }

  isPaused(key: Key, now: number): boolean {
    return (this.#pauses.get(key)?.until ?? Number.NEGATIVE_INFINITY) > now;
  }

  forget(key: Key): void {
    this.#pauses.delete(key);
  }

  /** Forgets what is not due any more. */
  keepOnly(keys: ReadonlySet<Key>): void {
    for (const key of this.#pauses.keys()) if (!keys.has(key)) this.#pauses.delete(key);
  }

  /** How long until the next of them; undefined when there is none. */
  nextIn(now: number): number | undefined {
    let soonest: number | undefined;
    for (const { until } of this.#pauses.values()) {
      const ms = Math.max(0, until - now);
      if (soonest === undefined || ms < soonest) soonest = ms;
    }
    return soonest;
  }
}
