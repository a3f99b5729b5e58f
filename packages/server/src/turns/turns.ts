/** One after the other for each name: what is asked about one thing at the same time must not meet itself. */
export class Turns {
  readonly #last = new Map<string, { done: Promise<unknown>; abort: AbortController }>();
  readonly #waiting = new Map<string, Set<AbortController>>();

  isTaken(name: string): boolean {
    return this.#last.has(name);
  }

  /** Does the work when those before it are done. Its signal is the caller's, or an interruption. */
  async take<T>(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const before = this.#last.get(name);
    const abort = new AbortController();
    const own = AbortSignal.any([signal, abort.signal]);
    const done = (async () => {
      await before?.done.catch(() => {});
      own.throwIfAborted();
      return work(own);
    })();
    const turn = { done, abort };
    this.#last.set(name, turn);
    const all = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, all.add(abort));
    try {
      return await done;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
      all.delete(abort);
      if (all.size === 0) this.#waiting.delete(name);
    }
  }

  /** Aborts what is being done and what waits for it, for somebody who takes its place. */
  interrupt(name: string, reason: Error): void {
    for (const abort of this.#waiting.get(name) ?? []) abort.abort(reason);
  }
}
