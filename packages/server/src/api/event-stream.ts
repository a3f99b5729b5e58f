import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { CaissonError, type CaissonEvent } from '@caisson/contract';

/** Proxies close what is silent for a minute; a comment every quarter of that keeps them from it. */
const keepaliveMs = 15_000;
/** A reader that takes nothing for so long is gone, and can go on later from where it was. */
const stalledMs = 30_000;
/** Each one holds a connection and a page of events; one caller's must not take everybody's. */
const maxStreams = 1_000;
const maxStreamsPerCaller = 100;

const openByCaller = new Map<string, number>();
let open = 0;

/** Refuses one stream too many, while there is still an answer to give. */
export function requireRoomForStream(caller: string): void {
  if (open >= maxStreams) throw new CaissonError('too_many_streams', `there are ${maxStreams} open event streams`);
  if ((openByCaller.get(caller) ?? 0) >= maxStreamsPerCaller) {
    throw new CaissonError('too_many_streams', `you have ${maxStreamsPerCaller} open event streams`);
  }
}

export interface EventStream {
  readonly caller: string;
  /** The position after which it begins. */
  readonly from: number;
  /** Ends it: the server shuts down, or the key has ended. */
  readonly until: readonly AbortSignal[];
  source(signal: AbortSignal): AsyncIterable<CaissonEvent>;
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
  const leave = enter(stream.caller);
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
      const text = `id: ${event.position}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
      if (!response.write(text) && !(await drained(response, signal))) break;
    }
  } finally {
    clearInterval(keepalive);
    leave();
    response.end();
  }
}

function enter(caller: string): () => void {
  open += 1;
  openByCaller.set(caller, (openByCaller.get(caller) ?? 0) + 1);
  return () => {
    open -= 1;
    const left = (openByCaller.get(caller) ?? 1) - 1;
    if (left === 0) openByCaller.delete(caller);
    else openByCaller.set(caller, left);
  };
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
