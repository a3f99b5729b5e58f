import {
  CaissonError,
  fromProblem,
  type OutputFrame,
  type OutputLost,
  type ProcessExit,
  type ProcessStarted,
} from '@caisson/contract';

/** A piece of what a process wrote. */
export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
}

/** Where a reader is in the output of a process: what to go on from when the connection breaks. */
export class OutputCursor {
  stdout: number;
  stderr: number;
  /** Bytes that were no longer kept when they were asked for. */
  lost = 0;
  started: ProcessStarted | undefined;
  exit: ProcessExit | undefined;

  constructor(from: { readonly stdout?: number | undefined; readonly stderr?: number | undefined } = {}) {
    this.stdout = from.stdout ?? 0;
    this.stderr = from.stderr ?? 0;
  }

  /** What the frame brings to the reader, if anything. A problem is thrown. */
  take({ kind, bytes }: OutputFrame): OutputChunk | undefined {
    if (kind === 'stdout' || kind === 'stderr') {
      this[kind] += bytes.byteLength;
      return { stream: kind, bytes };
    }
    const value = readJson(bytes);
    if (kind === 'problem') throw fromProblem(value, 500);
    if (kind === 'started') this.started = value as ProcessStarted;
    if (kind === 'exit') this.exit = value as ProcessExit;
    if (kind === 'lost') {
      const { stream, bytes: gap } = value as OutputLost;
      this[stream] += gap;
      this.lost += gap;
    }
    return undefined;
  }
}

export function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new CaissonError('internal', 'a frame of output cannot be read', { cause });
  }
}
