import type { ProcessExit, ProcessRecord, SignalName } from '@caisson/contract';
import type { Attachment, AttachOptions } from './attachment.ts';
import type { CallOptions } from './call.ts';
import type { OutputChunk } from './output-cursor.ts';
import type { Processes } from './processes.ts';
import type { WrittenEnd, WrittenOptions } from './written-output.ts';

export interface WaitOptions extends CallOptions {
  /** Give up after so long; without it, wait for as long as it takes. */
  readonly waitSeconds?: number | undefined;
}

/** One process: its record as it was last seen, and what can be done with it. It lives on without this object. */
export class Process {
  #record: ProcessRecord;
  readonly #processes: Processes;

  constructor(record: ProcessRecord, processes: Processes) {
    this.#record = record;
    this.#processes = processes;
  }

  get record(): ProcessRecord {
    return this.#record;
  }

  get id(): ProcessRecord['id'] {
    return this.#record.id;
  }

  get pid(): number {
    return this.#record.pid;
  }

  get running(): boolean {
    return this.#record.running;
  }

  async refresh(options: CallOptions = {}): Promise<this> {
    this.#record = (await this.#processes.get(this.id, options)).record;
    return this;
  }

  /** Its output and stdin, over a WebSocket where there is one. */
  attach(options: AttachOptions = {}): Attachment {
    return this.#processes.attach(this.id, options);
  }

  /** Its output from the beginning, or from where it is still kept, until it ends. */
  async *output(options: AttachOptions = {}): AsyncGenerator<OutputChunk, ProcessExit | undefined, undefined> {
    const attachment = this.attach(options);
    yield* attachment;
    return attachment.exit;
  }

  /** What it has written so far and is still kept; `process_busy` while somebody else reads its output. */
  written(options: WrittenOptions = {}): AsyncGenerator<OutputChunk, WrittenEnd, undefined> {
    return this.#processes.written(this.id, options);
  }

  write(data: string | Uint8Array, options: CallOptions = {}): Promise<void> {
    return this.#processes.write(this.id, data, options);
  }

  /** Closes its stdin. */
  end(options: CallOptions = {}): Promise<void> {
    return this.#processes.end(this.id, options);
  }

  async signal(signal: SignalName | number, options: CallOptions = {}): Promise<this> {
    this.#record = await this.#processes.signal(this.id, signal, options);
    return this;
  }

  async resize(columns: number, rows: number, options: CallOptions = {}): Promise<this> {
    this.#record = await this.#processes.resize(this.id, columns, rows, options);
    return this;
  }

  /** How it ended; null when it still runs after `waitSeconds`. */
  async wait(options: WaitOptions = {}): Promise<ProcessExit | null> {
    this.#record = await this.#processes.wait(this.id, options);
    return this.#record.exit;
  }

  /** Frees its record and its output. Only of a process that has ended. */
  forget(options: CallOptions = {}): Promise<void> {
    return this.#processes.forget(this.id, options);
  }

  toJSON(): ProcessRecord {
    return this.#record;
  }
}
