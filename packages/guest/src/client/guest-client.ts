import { CaissonError } from '@caisson/contract';
import type { Method } from '../protocol/methods/method.ts';
import { type MethodName, methods, type Params, type Result } from '../protocol/methods.ts';
import type { GuestConnection, OpenOptions } from './guest-connection.ts';
import { GuestFiles } from './guest-files.ts';
import { GuestPorts } from './guest-ports.ts';
import { GuestProcesses } from './guest-processes.ts';
import { decodeResult, open } from './open-channel.ts';
import { ConnectionLost, fromAbort, guestCodeOf, unreachable } from './translate-error.ts';

export interface GuestClientOptions {
  /** How long a request waits for a guest that is not connected before it fails with `guest_unreachable`. */
  readonly patienceMs?: number | undefined;
}

/** A restarting server finds its guests within `redialMax`; several of those, and then nobody is coming. */
const defaultPatienceMs = 15_000;

/**
 * The guest of one sandbox, through any number of connections. Give it each connection with `use`; what was asked for
 * goes on across them: reads, waits and attachments resume at the first byte not consumed, and what must not happen twice
 * is not repeated.
 */
export class GuestClient {
  readonly processes: GuestProcesses;
  readonly files: GuestFiles;
  readonly ports: GuestPorts;
  readonly #patienceMs: number;
  #connection: GuestConnection | undefined;
  #waiting: { promise: Promise<void>; wake: () => void } | undefined;
  #ended: CaissonError | undefined;

  constructor(options: GuestClientOptions = {}) {
    this.#patienceMs = options.patienceMs ?? defaultPatienceMs;
    this.processes = new GuestProcesses(this);
    this.files = new GuestFiles(this);
    this.ports = new GuestPorts(this);
  }

  get connection(): GuestConnection | undefined {
    return this.#connection?.mayOpen === true ? this.#connection : undefined;
  }

  /** The newest connection serves what comes; the one before is expected to be over, or about to be. */
  use(connection: GuestConnection): void {
    this.#connection = connection;
    this.ports.listenOn(connection);
    this.#waiting?.wake();
    this.#waiting = undefined;
  }

  /**
   * Nothing waits for a guest any more; what does fails for this reason, the first that was given. The connection is its
   * owner's to close.
   */
  close(reason: CaissonError = new CaissonError('guest_unreachable')): void {
    this.#ended ??= reason;
    this.#waiting?.wake();
    this.#waiting = undefined;
  }

  /** What to tell whoever cannot be served again after their connection was lost. */
  lost(error: unknown): CaissonError {
    return this.#ended ?? unreachable(error);
  }

  async ping(signal?: AbortSignal): Promise<number> {
    const connection = await this.connected(signal);
    try {
      return await connection.ping();
    } catch (error) {
      throw error instanceof ConnectionLost ? this.lost(error) : error;
    }
  }

  async info(signal?: AbortSignal): Promise<Result<'sys.info'>> {
    return await this.request('sys.info', {}, { signal });
  }

  async stats(signal?: AbortSignal): Promise<Result<'sys.stats'>> {
    return await this.request('sys.stats', {}, { signal });
  }

  /** Everything written so far is on the disk when this resolves. */
  async sync(signal?: AbortSignal): Promise<void> {
    await this.request('sys.sync', {}, { signal });
  }

  /** TERM to all processes, the grace, KILL; then the guest exits. Gives how many were running. */
  async shutdown(graceMs: number, signal?: AbortSignal): Promise<number> {
    const { ended } = await this.request('sys.shutdown', { graceMs }, { signal });
    return ended;
  }

  /** The connection, waiting for one when there is none. */
  async connected(signal?: AbortSignal): Promise<GuestConnection> {
    const deadline = performance.now() + this.#patienceMs;
    for (;;) {
      if (signal?.aborted === true) throw fromAbort(signal);
      const connection = this.connection;
      if (connection !== undefined) return connection;
      const left = deadline - performance.now();
      if (this.#ended) throw this.#ended;
      if (left <= 0) throw new CaissonError('guest_unreachable');
      await this.#nextConnection(left, signal);
    }
  }

  async #nextConnection(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting === undefined) {
      let wake = () => {};
      const promise = new Promise<void>((resolve) => {
        wake = resolve;
      });
      this.#waiting = { promise, wake };
    }
    const waiting = this.#waiting.promise;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
      void waiting.then(done);
    });
  }

  /** One request without data. Repeated on the next connection where a repetition does no harm. */
  async request<M extends MethodName>(method: M, params: Params<M>, options: OpenOptions = {}): Promise<Result<M>> {
    return await this.onConnection(method, options.signal, async (connection) => {
      const channel = open(connection, method, params, options);
      return decodeResult(method, await channel.result);
    });
  }

  /**
   * Does the work on a connection, and again on the next when it was lost and the method allows it. Work that has made
   * progress (bytes consumed) keeps it in its own variables and goes on from there.
   */
  async onConnection<T>(
    method: MethodName,
    signal: AbortSignal | undefined,
    work: (connection: GuestConnection) => Promise<T>,
  ): Promise<T> {
    const { repeat }: Method = methods[method];
    for (;;) {
      const connection = await this.connected(signal);
      try {
        return await work(connection);
      } catch (error) {
        // Not begun: an open that crossed the guest's or our goaway.
        const notBegun = guestCodeOf(error) === 'shutting_down' && method !== 'process.spawn';
        if (!(error instanceof ConnectionLost) && !notBegun) throw error;
        if (!notBegun && (repeat === 'atomic' || repeat === 'connection')) throw this.lost(error);
        await connection.closed;
      }
    }
  }
}
