import { CaissonError, type ErrorCode, hasCode } from '@caisson/contract';
import { pause, pauseMs } from './retry.ts';

/** Long enough for the restart of a server with a large data folder. */
export const defaultReconnectSeconds = 60;
/** A connection that held this long was a good one; pauses between shorter ones grow. */
const steadyMs = 5_000;

/** A rollback ends every process: whoever comes back would only be told that there is none, and not why. */
export const endsOfProcesses: readonly ErrorCode[] = ['rollback_in_progress'];

/** When to open again what broke, and when to give up. */
export class Reconnect {
  readonly #seconds: number;
  readonly #signal: AbortSignal | undefined;
  readonly #ends: readonly ErrorCode[];
  #failures = 0;
  #begunAt = Date.now();
  #seenAt = Date.now();

  /** `ends` are errors after which there is nothing to come back to, retryable or not. */
  constructor(
    seconds: number = defaultReconnectSeconds,
    signal?: AbortSignal | undefined,
    ends: readonly ErrorCode[] = [],
  ) {
    this.#seconds = seconds;
    this.#signal = signal;
    this.#ends = ends;
  }

  begin(): void {
    this.#signal?.throwIfAborted();
    this.#begunAt = Date.now();
  }

  /** Something came: the other end is there. */
  alive(): void {
    this.#seenAt = Date.now();
  }

  /** Waits before the next try, or throws what cannot be helped by trying again. */
  async after(error: unknown): Promise<void> {
    if (this.#signal?.aborted) throw this.#signal.reason;
    const away = (Date.now() - this.#seenAt) / 1000;
    if (!(error instanceof CaissonError) || !error.retryable || away >= this.#seconds) throw error;
    if (hasCode(error, ...this.#ends)) throw error;
    if (Date.now() - this.#begunAt > steadyMs) this.#failures = 0;
    await pause(pauseMs(this.#failures), this.#signal);
    this.#failures += 1;
  }
}
