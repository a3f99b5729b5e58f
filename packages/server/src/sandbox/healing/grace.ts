/** What nobody owns may be somebody's whose record comes back: long enough to say so, short enough to cost little. */
const defaultMs = 60_000;

/**
 * Since when what nobody owns has been seen. It is kept in memory and by a clock that nobody can set: a restart begins it
 * anew, and nothing ends earlier than it should because a clock was put forward.
 */
export class Grace {
  readonly #graceMs: number;
  readonly #now: () => number;
  readonly #since = new Map<string, number>();

  constructor(graceMs: number = defaultMs, now: () => number = () => performance.now()) {
    this.#graceMs = graceMs;
    this.#now = now;
  }

  get seconds(): number {
    return this.#graceMs / 1000;
  }

  /** How long something still has; undefined where nobody waits for its end. */
  secondsLeft(name: string): number | undefined {
    const since = this.#since.get(name);
    return since === undefined ? undefined : Math.max(0, (since + this.#graceMs - this.#now()) / 1000);
  }

  /** One look at everything. What it does not see is forgotten at its end, and begins anew when it is seen again. */
  look(): GraceLook {
    const began = this.#now();
    const seen = new Set<string>();
    return {
      see: (name) => {
        seen.add(name);
        const since = this.#since.get(name);
        const now = this.#now();
        if (since === undefined) this.#since.set(name, now);
        if (now - (since ?? now) >= this.#graceMs) return 'over';
        return since === undefined ? 'new' : 'waiting';
      },
      end: () => {
        // Another look may have begun meanwhile: what that one found is its own.
        for (const [name, since] of this.#since) if (!seen.has(name) && since < began) this.#since.delete(name);
      },
    };
  }
}

export interface GraceLook {
  /** `new`: it was never seen before, and is worth telling. */
  see(name: string): 'new' | 'waiting' | 'over';
  end(): void;
}
