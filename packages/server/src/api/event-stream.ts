import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { eventStreams } from './open-streams.ts';

/** Proxies close what is silent for a minute; a comment every quarter of that keeps them from it. */
const keepaliveMs = 15_000;
/** A reader that takes nothing for so long is gone, and can go on later from where it was. */
const stalledMs = 30_000;

/** Something of a log: its position is what a reader goes on after. */
export interface LogItem {
  readonly position: number;
  /** What it is, where a log has several kinds of them. */
  readonly type?: string;
}

export interface EventStream {
  readonly caller: string;
  /** The position after which it begins. */
  readonly from: number;
  /** Ends it: the server shuts down, or the key has ended. */
  readonly until: readonly AbortSignal[];
  source(signal: AbortSignal): AsyncIterable<LogItem>;
}

/**
 * Sends events as they come, as server-sent events whose id is the position in the log. The reader sets the pace: no
 * event is taken from the source before the last one has left.
 */
export async function streamEvents(response: ServerResponse, stream: EventStream): Promise<void> {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  const signal = AbortSignal.any([closed.signal, ...stream.until]);
  // A client may have left while its request was looked at; its `close` has passed by then.
  if (response.destroyed || signal.aborted) {
    response.destroy();
    return;
  }
  const leave = eventStreams.enter(stream.caller);
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  // A client whose connection breaks before the first event must know where to go on.
  response.write(`: open\nid: ${stream.from}\n\n`);
  const keepalive = setInterval(() => response.write(': still here\n\n'), keepaliveMs);
  try {
    for await (const event of stream.source(signal)) {
      const { position, type = 'record' } = event;
      const text = `id: ${position}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
      if (!response.write(text) && !(await drained(response, signal))) break;
    }
  } finally {
    clearInterval(keepalive);
    leave();
    response.end();
  }
}

/** False when the reader is gone or has taken nothing for too long. */
async function drained(response: ServerResponse, signal: AbortSignal): Promise<boolean> {
  try {
    await once(response, 'drain', { signal: AbortSignal.any([signal, AbortSignal.timeout(stalledMs)]) });
    return true;
  } catch {
    if (!signal.aborted) response.destroy();
    return false;
  }
}
