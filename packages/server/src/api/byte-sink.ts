import type { ServerResponse } from 'node:http';
import { CaissonError, frameHeader, type OutputKind } from '@caisson/contract';

/** What may wait for a reader. Less, and each piece waits for the one before; more is memory for nothing. */
const highWaterBytes = 1024 * 1024;
/** From here on there is room again. Not from nothing on: the reader would stand still until the next piece comes. */
const lowWaterBytes = 512 * 1024;
/** A reader that takes nothing for so long is gone. It can go on later from where it was. */
const stalledMs = 300_000;

/** Where output goes: frames, and a reader that may be slow or gone. */
export interface FrameSink {
  /** Aborted when the reader has gone, or must go. */
  readonly closed: AbortSignal;
  /** Undefined when there is room for more; otherwise it resolves when there is, or when the reader has gone. */
  frame(kind: OutputKind, bytes: Uint8Array): Promise<void> | undefined;
}

/**
 * The body of an answer. The reader sets the pace: whoever writes waits for what `write` gives. Pieces are passed on as
 * they are; Node joins those of one turn of the event loop into one system call.
 */
export class ByteSink implements FrameSink {
  readonly closed: AbortSignal;
  readonly #response: ServerResponse;
  readonly #closing = new AbortController();
  #pending = 0;
  #waiting: { promise: Promise<void>; resolve: () => void; timer: NodeJS.Timeout } | undefined;

  constructor(response: ServerResponse, until: readonly AbortSignal[]) {
    this.#response = response;
    this.closed = this.#closing.signal;
    response.once('close', () => this.close());
    for (const signal of until) {
      if (signal.aborted) this.close();
      else signal.addEventListener('abort', () => this.close(signal.reason), { once: true, signal: this.closed });
    }
    // A client may have left while its request was looked at; its `close` has passed by then.
    if (response.destroyed) this.close();
  }

  write(bytes: Uint8Array | string): Promise<void> | undefined {
    if (this.closed.aborted) return undefined;
    const size = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.byteLength;
    this.#pending += size;
    this.#response.write(bytes, () => {
      this.#pending -= size;
      if (this.#pending <= lowWaterBytes) this.#wake();
    });
    return this.#pending > highWaterBytes ? this.#drained() : undefined;
  }

  frame(kind: OutputKind, bytes: Uint8Array): Promise<void> | undefined {
    if (this.closed.aborted) return undefined;
    this.#response.write(frameHeader(kind, bytes.byteLength));
    return this.write(bytes);
  }

  close(reason?: unknown): void {
    this.#closing.abort(reason);
    this.#wake();
  }

  #drained(): Promise<void> {
    if (this.#waiting === undefined) {
      let resolve = () => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      const timer = setTimeout(() => {
        this.close(new CaissonError('request_timeout', 'the client reads nothing'));
        this.#response.destroy();
      }, stalledMs);
      this.#waiting = { promise, resolve, timer };
    }
    return this.#waiting.promise;
  }

  #wake(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    clearTimeout(waiting.timer);
    waiting.resolve();
  }
}
