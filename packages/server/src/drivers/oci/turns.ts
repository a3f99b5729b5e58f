/** One after the other for each name: what is asked about one instance at the same time must not meet itself. */
export class Turns {
  readonly #last = new Map<string, { done: Promise<unknown>; abort: AbortController }>();

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
    try {
      return await done;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
  }

  /** Aborts what is being done, for somebody who takes its place. */
  interrupt(name: string, reason: Error): void {
    this.#last.get(name)?.abort.abort(reason);
  }
}
