import type { ServerResponse } from 'node:http';
import { CaissonError, type CaissonEvent } from '@caisson/contract';

/** Proxies close what is silent for a minute; a comment every quarter of that keeps them from it. */
const keepaliveMs = 15_000;
/** Each one holds a connection and a page of events. */
const maxStreams = 1_000;

let open = 0;

/** Refuses one stream too many, while there is still an answer to give. */
export function requireRoomForStream(): void {
  if (open >= maxStreams) throw new CaissonError('too_many_streams', `there are ${maxStreams} open event streams`);
}

/**
 * Sends events as they come, as server-sent events whose id is the position in the log. The reader sets the pace: no
 * event is taken from the source before the last one has left.
 */
export async function streamEvents(
  response: ServerResponse,
  from: number,
  source: (signal: AbortSignal) => AsyncIterable<CaissonEvent>,
  shutdown: AbortSignal,
): Promise<void> {
  open += 1;
  const ended = new AbortController();
  const end = () => ended.abort();
  response.once('close', end);
  shutdown.addEventListener('abort', end, { once: true });
  if (shutdown.aborted) end();
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  // A client whose connection breaks before the first event must know where to go on.
  response.write(`: open\nid: ${from}\n\n`);
  const keepalive = setInterval(() => response.write(': still here\n\n'), keepaliveMs);
  try {
    for await (const event of source(ended.signal)) {
      const text = `id: ${event.position}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
      if (!response.write(text)) await drained(response, ended.signal);
    }
  } finally {
    open -= 1;
    clearInterval(keepalive);
    shutdown.removeEventListener('abort', end);
    response.end();
  }
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    response.once('drain', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
