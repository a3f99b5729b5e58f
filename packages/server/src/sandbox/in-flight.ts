import type { Id } from '@caisson/contract';

/** What is going on in each sandbox, counted, and told when the last of it has ended. */
export class InFlight {
  readonly #counts = new Map<Id<'sandbox'>, number>();
  readonly #held = new Map<Id<'sandbox'>, Promise<void>>();
  readonly #waiting = new Map<Id<'sandbox'>, Set<() => void>>();

  /** One more, until what it gives is called; calling that again does nothing. */
  begin(id: Id<'sandbox'>): () => void {
    this.#counts.set(id, this.count(id) + 1);
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.#end(id);
    };
  }

  /** The same as soon as nobody holds off what begins there. */
  async enter(id: Id<'sandbox'>): Promise<() => void> {
    for (let held = this.#held.get(id); held !== undefined; held = this.#held.get(id)) await held;
    return this.begin(id);
  }

  /** Lets nothing enter until `task` has ended: what was counted before it is all that there is. */
  holdOff<T>(id: Id<'sandbox'>, task: () => Promise<T>): Promise<T> {
    const work = task();
    const held: Promise<void> = Promise.allSettled([this.#held.get(id), work]).then(() => {
      if (this.#held.get(id) === held) this.#held.delete(id);
    });
    this.#held.set(id, held);
    return work;
  }

  count(id: Id<'sandbox'>): number {
    return this.#counts.get(id) ?? 0;
  }

  /** Resolves with true as soon as nothing is going on, with false when something still is after that time. */
  drained(id: Id<'sandbox'>, ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.count(id) === 0) return Promise.resolve(true);
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(id) ?? new Set();
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        waiting.delete(drained);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
      };
      const drained = () => {
        leave();
        resolve(true);
      };
      const abort = () => {
        leave();
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        leave();
        resolve(false);
      }, ms);
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.set(id, waiting.add(drained));
    });
  }

  #end(id: Id<'sandbox'>): void {
    const left = this.count(id) - 1;
    if (left > 0) {
      this.#counts.set(id, left);
      return;
    }
    this.#counts.delete(id);
    for (const drained of [...(this.#waiting.get(id) ?? [])]) drained();
  }
}
