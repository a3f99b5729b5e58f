import { CaissonError, fromProblem, type Route } from '@caisson/contract';
import { readAnswer } from './answer.ts';
import { piecesOf } from './raw-call.ts';
import { pause, pauseMs } from './retry.ts';
import { SseParser } from './sse-parser.ts';
import type { FetchAnswer, Message, Transport } from './transport.ts';

export interface FollowOptions {
  /** Begin after this position of the log; 0 is its beginning. Absent: the server's choice. */
  readonly after?: number | undefined;
  /** Ends the iteration, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long the server may be away before the iteration gives up. */
  readonly reconnectSeconds?: number | undefined;
}

/** Long enough for the restart of a server with a large data folder. */
const defaultReconnectSeconds = 60;

/** Servers send something every 15 s at least; a connection that is silent for longer is dead without saying so. */
const idleMs = 60_000;

/** A connection that held this long was a good one; pauses between shorter ones grow. */
const steadyMs = 5_000;

/**
 * What a route lists, as it happens. A connection that ends is opened again after the last item that came, so that each
 * comes exactly once, in order, whatever happens to the connection.
 */
export async function* followLog<T extends { readonly position: number }>(
  transport: Transport,
  route: Route,
  message: Message,
  options: FollowOptions,
): AsyncGenerator<T, void, undefined> {
  const { signal, reconnectSeconds = defaultReconnectSeconds } = options;
  let lastEventId = options.after === undefined ? '' : String(options.after);
  let position = options.after ?? 0;
  let failures = 0;
  let awaySince = Date.now();
  let askedMs = 0;
  for (;;) {
    const parser = new SseParser(lastEventId);
    const connection = new AbortController();
    const abort = () => connection.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    const begunAt = Date.now();
    try {
      const headers = { accept: 'text/event-stream', ...(lastEventId === '' ? {} : { 'last-event-id': lastEventId }) };
      const response = await transport.send(route, { ...message, headers, signal: connection.signal });
      for await (const bytes of piecesOf(await streamOf(response), idleMs)) {
        for (const { type, data } of parser.push(bytes)) {
          const event = readItem<T>(type, data);
          // A server may repeat the last one; the caller sees each once.
          if (event.position <= position) continue;
          position = event.position;
          yield event;
        }
        awaySince = Date.now();
        lastEventId = parser.lastEventId;
        askedMs = parser.retryMs ?? askedMs;
      }
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const error = transport.failure(cause, undefined);
      const away = (Date.now() - awaySince) / 1000;
      if (!(error instanceof CaissonError) || !error.retryable || away >= reconnectSeconds) throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
      connection.abort();
    }
    // A stream that ends in order ends because the server does: it is opened again like one that broke.
    if (Date.now() - begunAt > steadyMs) failures = 0;
    await pause(Math.max(askedMs, pauseMs(failures)), signal);
    failures += 1;
  }
}

async function streamOf(response: FetchAnswer): Promise<FetchAnswer> {
  const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
  if (response.ok && isStream && response.body !== null) return response;
  await readAnswer(response);
  throw new CaissonError('internal', 'the server answered with something that is not a stream of events');
}

function readItem<T>(type: string, data: string): T {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    throw new CaissonError('internal', 'an event of the stream cannot be read', { cause });
  }
  if (type === 'problem') throw fromProblem(value, 500);
  if (typeof value === 'object' && value !== null && 'position' in value && typeof value.position === 'number') {
    return value as T;
  }
  throw new CaissonError('internal', 'an event of the stream has no position', { context: { type } });
}
