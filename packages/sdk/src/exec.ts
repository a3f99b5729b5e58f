import { byteForms, type ExecRequest, type ExecResult, type ProcessExit } from '@caisson/contract';
import type { CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { type OutputChunk, OutputCursor } from './output-cursor.ts';
import { followOutput, type StreamOptions } from './output-stream.ts';

export type ExecOptions = Omit<ExecRequest, 'command'> & Pick<CallOptions, 'signal'>;

export type RunOptions = Omit<ExecRequest, 'command' | 'maxOutputBytes'> &
  StreamOptions & {
    /** Called with each piece as it comes; what it returns is waited for, and the process with it. */
    readonly onStdout?: (bytes: Uint8Array) => unknown;
    readonly onStderr?: (bytes: Uint8Array) => unknown;
    readonly onStart?: (process: string) => unknown;
  };

export interface RunResult extends ProcessExit {
  readonly process: string;
  /** Bytes that were no longer kept after a broken connection. */
  readonly lost: number;
}

/** Runs a command to its end and gives its output as a whole. */
export function exec(
  connection: Connection,
  sandbox: string,
  command: ExecRequest['command'],
  options: ExecOptions,
): Promise<ExecResult> {
  const { signal, ...rest } = options;
  return connection.call('process.exec', { params: { id: sandbox }, body: { ...rest, command }, signal });
}

/** Runs a command and gives its output as it comes. A broken connection is opened again; the command goes on meanwhile. */
export async function run(
  connection: Connection,
  sandbox: string,
  command: ExecRequest['command'],
  options: RunOptions,
): Promise<RunResult> {
  const { signal, reconnectSeconds, onStdout, onStderr, onStart, ...rest } = options;
  const first = await connection.open('process.exec', {
    params: { id: sandbox },
    body: { ...rest, command },
    headers: { accept: byteForms.output },
    signal,
  });
  const process = first.headers.get('x-caisson-process') ?? undefined;
  if (process !== undefined) await onStart?.(process);
  const cursor = new OutputCursor();
  const known = process === undefined ? {} : { process };
  const output = followOutput(connection, sandbox, cursor, { signal, reconnectSeconds, first, ...known });
  for (;;) {
    const { done, value } = await output.next();
    if (done) return { ...value, process: cursor.started?.process ?? process ?? '', lost: cursor.lost };
    await give(value, onStdout, onStderr);
  }
}

function give(
  { stream, bytes }: OutputChunk,
  onStdout: RunOptions['onStdout'],
  onStderr: RunOptions['onStderr'],
): unknown {
  return stream === 'stdout' ? onStdout?.(bytes) : onStderr?.(bytes);
}
