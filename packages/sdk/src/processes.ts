import { newId, type ProcessRecord, type SignalName, type StartProcess } from '@caisson/contract';
import { type Attachment, type AttachOptions, toBytes } from './attachment.ts';
import type { CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { HttpAttachment } from './http-attachment.ts';
import type { OutputChunk } from './output-cursor.ts';
import { Process, type WaitOptions } from './process.ts';
import { SocketAttachment } from './socket-attachment.ts';
import { type WrittenEnd, type WrittenOptions, writtenOutput } from './written-output.ts';

/** A longer wait is several: clients and proxies give up on an answer that does not begin for a few minutes. */
const longestWaitSeconds = 60;

/** Processes of one sandbox. */
export class Processes {
  readonly #connection: Connection;
  readonly #sandbox: string;

  constructor(connection: Connection, sandbox: string) {
    this.#connection = connection;
    this.#sandbox = sandbox;
  }

  /** Starts a process in the background. Its id is chosen here, so that a repetition finds it and starts nothing. */
  async start(
    command: StartProcess['command'],
    options: Omit<StartProcess, 'command'> & CallOptions = {},
  ): Promise<Process> {
    const { signal, idempotencyKey: _, process = newId('process'), ...rest } = options;
    const body = { ...rest, command, process };
    return this.#of(await this.#connection.call('process.start', { params: { id: this.#sandbox }, body, signal }));
  }

  /** Those that run or have not been forgotten, oldest first. */
  async list(options: CallOptions & { readonly tag?: string } = {}): Promise<Process[]> {
    const { tag, ...calls } = options;
    const query = tag === undefined ? {} : { tag };
    const { items } = await this.#connection.call('process.list', { params: { id: this.#sandbox }, query, ...calls });
    return items.map((record) => this.#of(record));
  }

  async get(id: string, options: CallOptions = {}): Promise<Process> {
    return this.#of(await this.#connection.call('process.get', { params: this.#params(id), ...options }));
  }

  /** Its output and stdin: over a WebSocket where there is one, otherwise over requests. */
  attach(id: string, options: AttachOptions = {}): Attachment {
    return (
      SocketAttachment.open(this.#connection, this.#sandbox, id, options) ??
      new HttpAttachment(this.#connection, this.#sandbox, id, options)
    );
  }

  /** What a process has written so far and is still kept. */
  written(id: string, options: WrittenOptions = {}): AsyncGenerator<OutputChunk, WrittenEnd, undefined> {
    return writtenOutput(this.#connection, this.#params(id), options);
  }

  async write(id: string, data: string | Uint8Array, options: CallOptions = {}): Promise<void> {
    await this.#stdin(id, toBytes(data), false, options);
  }

  async end(id: string, options: CallOptions = {}): Promise<void> {
    await this.#stdin(id, new Uint8Array(0), true, options);
  }

  signal(id: string, signal: SignalName | number, options: CallOptions = {}): Promise<ProcessRecord> {
    return this.#connection.call('process.signal', { params: this.#params(id), body: { signal }, ...options });
  }

  resize(id: string, columns: number, rows: number, options: CallOptions = {}): Promise<ProcessRecord> {
    return this.#connection.call('process.resize', { params: this.#params(id), body: { columns, rows }, ...options });
  }

  async wait(id: string, options: WaitOptions = {}): Promise<ProcessRecord> {
    const { waitSeconds = Number.POSITIVE_INFINITY, ...calls } = options;
    const deadline = Date.now() + waitSeconds * 1000;
    for (;;) {
      const left = Math.max(0, Math.min((deadline - Date.now()) / 1000, longestWaitSeconds));
      const body = { waitSeconds: left };
      const record = await this.#connection.call('process.wait', { params: this.#params(id), body, ...calls });
      if (!record.running || Date.now() >= deadline) return record;
    }
  }

  async forget(id: string, options: CallOptions = {}): Promise<void> {
    await this.#connection.call('process.forget', { params: this.#params(id), ...options });
  }

  async #stdin(id: string, bytes: Uint8Array, close: boolean, options: CallOptions): Promise<void> {
    const { signal } = options;
    const call = { params: this.#params(id), query: { close }, bytes, signal };
    await (await this.#connection.open('process.stdin', call)).arrayBuffer();
  }

  #params(process: string): { id: string; process: string } {
    return { id: this.#sandbox, process };
  }

  #of(record: ProcessRecord): Process {
    return new Process(record, this);
  }
}
