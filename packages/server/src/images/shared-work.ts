import { until } from '../drivers/until.ts';

/** A piece of work that several callers wait for. */
interface Piece<T> {
  readonly promise: Promise<T>;
  readonly controller: AbortController;
  readonly listeners: Set<(line: string) => void>;
  waiting: number;
}

/**
 * Work that is done once however many ask for it at the same time. A caller that gives up goes alone; the work is
 * aborted when the last one has gone.
 */
export class SharedWork<T> {
  readonly #pieces = new Map<string, Piece<T>>();

  async run(
    key: string,
    options: { signal: AbortSignal; progress?: ((line: string) => void) | undefined },
    work: (signal: AbortSignal, progress: (line: string) => void) => Promise<T>,
  ): Promise<T> {
    const { signal, progress } = options;
    signal.throwIfAborted();
    const piece = this.#pieces.get(key) ?? this.#start(key, work);
    if (progress) piece.listeners.add(progress);
    piece.waiting++;
    try {
      return await until(signal, piece.promise);
    } finally {
      if (progress) piece.listeners.delete(progress);
      piece.waiting--;
      if (piece.waiting === 0) await this.#abandon(key, piece, signal);
    }
  }

  #start(key: string, work: (signal: AbortSignal, progress: (line: string) => void) => Promise<T>): Piece<T> {
    const controller = new AbortController();
    const listeners = new Set<(line: string) => void>();
    const promise = work(controller.signal, (line) => {
      for (const listener of listeners) listener(line);
    }).finally(() => {
      if (this.#pieces.get(key) === piece) this.#pieces.delete(key);
    });
    promise.catch(() => {});
    const piece: Piece<T> = { promise, controller, listeners, waiting: 0 };
    this.#pieces.set(key, piece);
    return piece;
  }

  /** Taken out at once: who comes now must not wait for work that is being aborted. The last caller waits for its clean-up. */
  async #abandon(key: string, piece: Piece<T>, signal: AbortSignal): Promise<void> {
    if (this.#pieces.get(key) === piece) this.#pieces.delete(key);
    if (!signal.aborted) return;
    piece.controller.abort(signal.reason);
    await piece.promise.catch(() => {});
  }
}
