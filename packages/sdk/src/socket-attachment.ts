import {
  CaissonError,
  hasCode,
  inputKinds,
  outputKind,
  type ProcessExit,
  type Route,
  routes,
  type SignalName,
} from '@caisson/contract';
import { type Attachment, type AttachOptions, toBytes } from './attachment.ts';
import type { Connection } from './connection.ts';
import { type OutputChunk, OutputCursor, readJson } from './output-cursor.ts';
import { cutOff } from './output-stream.ts';
import { endsOfProcesses, Reconnect } from './reconnect.ts';
import { SocketInput } from './socket-input.ts';
import type { WebSocketLike } from './web-socket.ts';

/** What has been taken is told to the server in steps of this: a fraction of what it sends ahead. */
const ackBytes = 128 * 1024;

/**
 * An attachment over a WebSocket. What the reader has taken is acknowledged, and so is what the server has accepted of
 * stdin: after a broken connection both go on at the first byte that was not.
 */
export class SocketAttachment implements Attachment {
  readonly process: string;
  readonly #connection: Connection;
  readonly #params: { readonly id: string; readonly process: string };
  readonly #cursor: OutputCursor;
  readonly #options: AttachOptions;
  readonly #reconnect: Reconnect;
  readonly #input = new SocketInput((kind, bytes) => this.#send(kind, bytes));
  #socket: WebSocketLike | undefined;
  #messages: Uint8Array[] = [];
  #wake: (() => void) | undefined;
  #unacknowledged = 0;
  /** Why the present socket is of no more use. */
  #broken: unknown;
  #isClosed = false;

  constructor(connection: Connection, sandbox: string, process: string, socket: WebSocketLike, options: AttachOptions) {
    this.process = process;
    this.#connection = connection;
    this.#params = { id: sandbox, process };
    this.#options = options;
    this.#cursor = new OutputCursor({ stdout: options.stdoutFrom, stderr: options.stderrFrom });
    this.#reconnect = new Reconnect(options.reconnectSeconds, options.signal, endsOfProcesses);
    this.#use(socket);
    if (options.signal?.aborted) this.close();
    options.signal?.addEventListener('abort', () => this.close(), { once: true });
  }

  /** Undefined where there are no WebSockets. */
  static open(
    connection: Connection,
    sandbox: string,
    process: string,
    options: AttachOptions,
  ): SocketAttachment | undefined {
    const from = { stdout: options.stdoutFrom ?? 0, stderr: options.stderrFrom ?? 0 };
    const socket = openSocket(connection, { id: sandbox, process }, from);
    return socket && new SocketAttachment(connection, sandbox, process, socket, options);
  }

  get exit(): ProcessExit | undefined {
    return this.#cursor.exit;
  }

  get lost(): number {
    return this.#cursor.lost;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<OutputChunk, void, undefined> {
    try {
      while (!this.#isClosed) {
        const message = this.#messages.shift();
        if (message === undefined) {
          if (this.#broken === undefined) await this.#next();
          else await this.#again(this.#broken);
          continue;
        }
        this.#reconnect.alive();
        const chunk = this.#take(message);
        if (chunk !== undefined && chunk.bytes.byteLength > 0) {
          yield chunk;
          this.#acknowledge(chunk.bytes.byteLength);
        }
        if (this.#cursor.exit !== undefined) return;
      }
      this.#options.signal?.throwIfAborted();
    } finally {
      this.close();
    }
  }

  write(data: string | Uint8Array): Promise<void> {
    return this.#input.write(toBytes(data));
  }

  end(): Promise<void> {
    return this.#input.end();
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#connection.call('process.resize', { params: this.#params, body: { columns, rows } });
  }

  async signal(signal: SignalName | number): Promise<void> {
    await this.#connection.call('process.signal', { params: this.#params, body: { signal } });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.fail(new CaissonError('process_ended', 'the attachment is closed'));
    this.#socket?.close();
    this.#wake?.();
  }

  #take(message: Uint8Array): OutputChunk | undefined {
    const kind = outputKind(message[0]);
    try {
      return this.#cursor.take({ kind, bytes: message.subarray(1) });
    } catch (error) {
      // What the server says counts for more than that it closed the socket then.
      this.#broken = error;
      return undefined;
    }
  }

  #acknowledge(bytes: number): void {
    this.#unacknowledged += bytes;
    if (this.#unacknowledged < ackBytes && this.#messages.length > 0) return;
    this.#unacknowledged = 0;
    const { stdout, stderr } = this.#cursor;
    this.#send('ack', new TextEncoder().encode(JSON.stringify({ stdout, stderr })));
  }

  #send(kind: keyof typeof inputKinds, bytes: Uint8Array): void {
    const socket = this.#socket;
    if (socket === undefined || socket.readyState !== 1) return;
    const message = new Uint8Array(bytes.byteLength + 1);
    message[0] = inputKinds[kind];
    message.set(bytes, 1);
    socket.send(message);
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** Opens another socket where this one was, or throws why that is of no use. */
  async #again(error: unknown): Promise<void> {
    await this.#reconnect.after(error);
    this.#reconnect.begin();
    // A WebSocket that is refused does not say why; the same question over a request does.
    const { signal } = this.#options;
    try {
      await this.#connection.call('process.get', { params: this.#params, signal });
    } catch (cause) {
      if (!hasCode(cause, 'server_unreachable')) throw cause;
      this.#broken = cause;
      return;
    }
    const socket = openSocket(this.#connection, this.#params, this.#cursor);
    if (socket !== undefined) this.#use(socket);
  }

  #use(socket: WebSocketLike): void {
    this.#socket = socket;
    this.#broken = undefined;
    this.#messages = [];
    const isCurrent = () => this.#socket === socket && !this.#isClosed;
    const broke = () => {
      if (!isCurrent()) return;
      this.#broken ??= cutOff();
      this.#wake?.();
    };
    socket.addEventListener('message', ({ data }) => {
      if (!isCurrent() || !(data instanceof ArrayBuffer)) return;
      const message = new Uint8Array(data);
      // Not held up by a reader that is slow: the writer of stdin waits for these.
      const kind = message[0] === undefined ? undefined : outputKind(message[0]);
      if (kind === 'started') this.#input.resume((readJson(message.subarray(1)) as { stdinAt: number }).stdinAt);
      if (kind === 'exit') this.#input.fail(new CaissonError('process_ended'));
      if (kind === 'stdin') this.#input.accepted((readJson(message.subarray(1)) as { at: number }).at);
      else this.#messages.push(message);
      this.#wake?.();
    });
    socket.addEventListener('error', broke);
    socket.addEventListener('close', broke);
  }
}

function openSocket(
  connection: Connection,
  params: { readonly id: string; readonly process: string },
  from: { readonly stdout: number; readonly stderr: number },
): WebSocketLike | undefined {
  const route: Route = routes['process.attach'];
  const query = { stdoutFrom: from.stdout, stderrFrom: from.stderr, acks: true };
  return connection.transport.openSocket(route, { params, query });
}
