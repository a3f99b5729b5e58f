import type { ProcessExit, SignalName } from '@caisson/contract';
import type { OutputChunk } from './output-cursor.ts';

export interface AttachOptions {
  /** Begin at this byte of each stream; 0 is everything that is still kept. */
  readonly stdoutFrom?: number | undefined;
  readonly stderrFrom?: number | undefined;
  /** Ends the attachment, not the process. */
  readonly signal?: AbortSignal | undefined;
  /** How long the server may be away before the attachment gives up. */
  readonly reconnectSeconds?: number | undefined;
}

/**
 * The output and the stdin of one process. Iterate over it for the output, once; it ends with the process, and `exit` is
 * known then. A connection that breaks is opened again where it was; who else attaches takes the output over, which ends
 * this one with `attachment_taken`.
 */
export interface Attachment extends AsyncIterable<OutputChunk> {
  readonly process: string;
  /** How it ended, once the iteration is over. */
  readonly exit: ProcessExit | undefined;
  /** Bytes that were no longer kept when they were asked for. */
  readonly lost: number;
  /** Resolves when the sandbox has it: a process that does not read makes the writer wait. */
  write(data: string | Uint8Array): Promise<void>;
  /** Closes stdin, after everything written before. */
  end(): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  signal(signal: SignalName | number): Promise<void>;
  /** Leaves the process to itself. */
  close(): void;
}

export const toBytes = (data: string | Uint8Array): Uint8Array =>
  typeof data === 'string' ? new TextEncoder().encode(data) : data;
