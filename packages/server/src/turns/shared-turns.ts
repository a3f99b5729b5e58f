/** Many at once who only look, one alone who changes. Who waits to be alone is before those who come to look later. */
export class SharedTurns {
  readonly #alone = new Map<string, Promise<unknown>>();
  readonly #looking = new Map<string, Set<Promise<unknown>>>();

  /** Looks at something that stays as it is meanwhile. */
  async share<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    for (let before = this.#alone.get(name); before; before = this.#alone.get(name)) await settled(signal, [before]);
    const all = this.#looking.get(name) ?? new Set();
    const looking = work();
    this.#looking.set(name, all.add(looking));
    try {
      return await looking;
    } finally {
      all.delete(looking);
      if (all.size === 0) this.#looking.delete(name);
    }
  }

  /** Does the work when nobody looks any more. */
  async alone<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const before = this.#alone.get(name);
    const turn = (async () => {
      if (before) await settled(signal, [before]);
      await settled(signal, this.#looking.get(name) ?? []);
      return work();
    })();
    this.#alone.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#alone.get(name) === turn) this.#alone.delete(name);
    }
  }
}

async function settled(signal: AbortSignal, all: Iterable<Promise<unknown>>): Promise<void> {
  let stop = () => {};
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
    signal.addEventListener('abort', stop, { once: true });
  });
  await Promise.race([Promise.allSettled(all), aborted]);
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
}
