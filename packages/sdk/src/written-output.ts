import { OutputFrameReader } from '@caisson/contract';
import type { Connection } from './connection.ts';
import { type OutputChunk, OutputCursor } from './output-cursor.ts';
import { piecesOf } from './raw-call.ts';

export interface WrittenOptions {
  /** Begin at this byte of each stream; 0 is everything that is still kept. */
  readonly stdoutFrom?: number | undefined;
  readonly stderrFrom?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WrittenEnd {
  /** Bytes that were no longer kept. */
  readonly lost: number;
}

/** What a process has written so far, in one answer that ends there. An answer that breaks off is an error. */
export async function* writtenOutput(
  connection: Connection,
  params: { readonly id: string; readonly process: string },
  options: WrittenOptions,
): AsyncGenerator<OutputChunk, WrittenEnd, undefined> {
  const { stdoutFrom = 0, stderrFrom = 0, signal } = options;
  const query = { stdoutFrom, stderrFrom, follow: false };
  const cursor = new OutputCursor({ stdout: stdoutFrom, stderr: stderrFrom });
  try {
    const response = await connection.open('process.output', { params, query, signal });
    const reader = new OutputFrameReader();
    for await (const bytes of piecesOf(response)) {
      for (const frame of reader.push(bytes)) {
        const chunk = cursor.take(frame);
        if (chunk !== undefined && chunk.bytes.byteLength > 0) yield chunk;
      }
    }
  } catch (cause) {
    throw connection.transport.failure(cause, signal);
  }
  return { lost: cursor.lost };
}
