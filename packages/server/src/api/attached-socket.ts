import { CaissonError, type InputKind, inputKinds, type OutputKind, outputKinds, toProblem } from '@caisson/contract';
import type { RawData, WebSocket } from 'ws';
import type { FrameSink } from './byte-sink.ts';

/** A message of input is at most this long: about what a paste into a terminal is. */
export const maxMessageBytes = 1024 * 1024;
const highWaterBytes = 512 * 1024;
/** Proxies close what is silent for a minute; a peer that misses one whole round is gone. */
const pingMs = 15_000;
const stalledMs = 300_000;
/** How long a peer may take to say goodbye, and to read what was sent before. */
const goodbyeMs = 5_000;

const kindsByNumber = Object.keys(inputKinds) as InputKind[];

export type TakeMessage = (kind: InputKind, bytes: Buffer) => Promise<void>;

/** A WebSocket that carries frames: output to the client, input from it, both at the pace of whoever takes them. */
export class AttachedSocket implements FrameSink {
  readonly closed: AbortSignal;
  readonly #socket: WebSocket;
  readonly #closing = new AbortController();
  readonly #ping: NodeJS.Timeout;
  #isAlive = true;

  constructor(socket: WebSocket, until: readonly AbortSignal[]) {
    this.#socket = socket;
    this.closed = this.#closing.signal;
    // What comes before somebody takes it waits in the connection.
    socket.pause();
    socket.once('close', () => this.#end());
    // A broken frame or a lost connection: `close` follows and says all that matters here.
    socket.on('error', () => {});
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    this.#ping = setInterval(() => this.#checkAlive(), pingMs);
    for (const signal of until) {
      if (signal.aborted) this.close(1001, 'going away');
      else signal.addEventListener('abort', () => this.close(1001, 'going away'), { once: true, signal: this.closed });
    }
  }

  frame(kind: OutputKind, bytes: Uint8Array): Promise<void> | undefined {
    if (this.closed.aborted || this.#socket.readyState !== this.#socket.OPEN) return undefined;
    const message = Buffer.allocUnsafe(bytes.byteLength + 1);
    message[0] = outputKinds[kind];
    message.set(bytes, 1);
    if (this.#socket.bufferedAmount + message.byteLength < highWaterBytes) {
      this.#socket.send(message);
      return undefined;
    }
    return new Promise((resolve) => {
      const stalled = setTimeout(() => this.#socket.terminate(), stalledMs);
      this.#socket.send(message, () => {
        clearTimeout(stalled);
        resolve();
      });
    });
  }

  /**
   * Gives each message to `take`: input in order, one at a time, everything else at once. A process that does not read
   * makes the socket wait only when a client has sent more than one message may hold: acknowledgements come on the same
   * socket, and a process that waits for them may be what keeps the input waiting.
   */
  onMessage(take: TakeMessage): void {
    let turn = Promise.resolve();
    let waiting = 0;
    this.#socket.resume();
    const taken = (size: number) => {
      waiting -= size;
      if (waiting <= maxMessageBytes && this.#socket.isPaused) this.#socket.resume();
    };
    this.#socket.on('message', (data: RawData, isBinary: boolean) => {
      if (this.closed.aborted) return;
      try {
        const { kind, bytes } = readMessage(data as Buffer, isBinary);
        if (kind !== 'stdin' && kind !== 'end') {
          Promise.resolve(take(kind, bytes)).catch((error) => this.fail(error));
          return;
        }
        waiting += bytes.byteLength;
        if (waiting > maxMessageBytes) this.#socket.pause();
        turn = turn
          .then(() => (this.closed.aborted ? undefined : take(kind, bytes)))
          .catch((error) => this.fail(error))
          .finally(() => taken(bytes.byteLength));
      } catch (error) {
        this.fail(error);
      }
    });
  }

  /** Tells what is wrong, and closes. */
  fail(error: unknown): void {
    const told = error instanceof CaissonError ? error : new CaissonError('internal', undefined, { cause: error });
    this.frame('problem', Buffer.from(JSON.stringify(toProblem(told))));
    this.close(1008, told.code);
  }

  close(code = 1000, reason = ''): void {
    if (this.#socket.readyState === this.#socket.OPEN) {
      this.#socket.resume();
      this.#socket.close(code, reason);
      setTimeout(() => this.#socket.terminate(), goodbyeMs).unref();
    }
    this.#end();
  }

  #end(): void {
    clearInterval(this.#ping);
    this.#closing.abort();
  }

  #checkAlive(): void {
    if (this.#isAlive) this.#socket.ping();
    else this.#socket.terminate();
    this.#isAlive = false;
  }
}

function readMessage(data: Buffer, isBinary: boolean): { kind: InputKind; bytes: Buffer } {
  if (!isBinary) throw new CaissonError('request_invalid', 'messages must be binary: one byte of kind, and the rest');
  const kind = kindsByNumber[data[0] ?? 255];
  if (kind === undefined) throw new CaissonError('request_invalid', `there is no kind of message ${data[0]}`);
  return { kind, bytes: data.subarray(1) };
}
