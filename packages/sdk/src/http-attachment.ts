import type { ProcessExit, SignalName } from '@caisson/contract';
import { type Attachment, type AttachOptions, toBytes } from './attachment.ts';
import type { Connection } from './connection.ts';
import { type OutputChunk, OutputCursor } from './output-cursor.ts';
import { followOutput } from './output-stream.ts';

/** An attachment over requests, where there are no WebSockets: the output is one answer, each write is one request. */
export class HttpAttachment implements Attachment {
  readonly process: string;
  readonly #connection: Connection;
  readonly #params: { readonly id: string; readonly process: string };
  readonly #cursor: OutputCursor;
  readonly #options: AttachOptions;
  readonly #closing = new AbortController();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(connection: Connection, sandbox: string, process: string, options: AttachOptions) {
    this.process = process;
    this.#connection = connection;
    this.#params = { id: sandbox, process };
    this.#cursor = new OutputCursor({ stdout: options.stdoutFrom, stderr: options.stderrFrom });
    this.#options = options;
    if (options.signal?.aborted) this.close();
    options.signal?.addEventListener('abort', () => this.close(), { once: true });
  }

  get exit(): ProcessExit | undefined {
    return this.#cursor.exit;
  }

  get lost(): number {
    return this.#cursor.lost;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<OutputChunk, void, undefined> {
    const { signal } = this.#closing;
    const options = { ...this.#options, signal, process: this.process };
    try {
      yield* followOutput(this.#connection, this.#params.id, this.#cursor, options);
    } catch (error) {
      if (!signal.aborted) throw error;
      this.#options.signal?.throwIfAborted();
    }
  }

  write(data: string | Uint8Array): Promise<void> {
    return this.#post(toBytes(data), false);
  }

  end(): Promise<void> {
    return this.#post(new Uint8Array(0), true);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#connection.call('process.resize', { params: this.#params, body: { columns, rows } });
  }

  async signal(signal: SignalName | number): Promise<void> {
    await this.#connection.call('process.signal', { params: this.#params, body: { signal } });
  }

  close(): void {
    this.#closing.abort();
  }

  #post(bytes: Uint8Array, close: boolean): Promise<void> {
    const post = async () => {
      const { signal } = this.#closing;
      const response = await this.#connection.open('process.stdin', {
        params: this.#params,
        query: { close },
        bytes,
        signal,
      });
      await response.arrayBuffer();
    };
    const mine = this.#turn.then(post, post);
    this.#turn = mine.catch(() => {});
    return mine;
  }
}
