import { byteForms, CaissonError, fromProblem, type RouteName } from '@caisson/contract';
import type { Connection } from './connection.ts';
import { piecesOf, type RawCall } from './raw-call.ts';
import { SseParser } from './sse-parser.ts';

/** The server sends something every 15 s at least. */
const idleMs = 60_000;

export interface ProgressOptions {
  readonly signal?: AbortSignal | undefined;
  /** What is being done, in words. */
  readonly onProgress?: ((line: string) => void) | undefined;
}

/** Calls a route that tells what it does while it does it. Leaving ends it; asked again it goes on from what is done. */
export async function callWithProgress<T>(
  connection: Connection,
  name: RouteName,
  call: Pick<RawCall, 'params' | 'body'>,
  { signal, onProgress }: ProgressOptions,
): Promise<T> {
  try {
    const response = await connection.open(name, { ...call, headers: { accept: byteForms.events }, signal });
    const parser = new SseParser();
    for await (const bytes of piecesOf(response, idleMs)) {
      for (const { type, data } of parser.push(bytes)) {
        const value = JSON.parse(data) as { text?: string };
        if (type === 'problem') throw fromProblem(value, 500);
        if (type === 'answer') return value as T;
        if (type === 'progress' && typeof value.text === 'string') onProgress?.(value.text);
      }
    }
    throw new CaissonError('server_unreachable', 'the stream broke off before its end');
  } catch (cause) {
    throw connection.transport.failure(cause, signal);
  }
}
