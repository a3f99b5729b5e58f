import type { IncomingMessage } from 'node:http';
import { CaissonError } from '@caisson/contract';
import { countRead } from '@caisson/guest';

/** A client that sends nothing for so long is gone. A person who types into a stdin may think for longer. */
export const uploadStalledMs = 120_000;
export const typingStalledMs = 3_600_000;
/** What was refused is read on for so long, or the refusal would be lost with the connection. */
const lingerMs = 5_000;

/**
 * The bytes of a request as they come. The taker sets the pace. A client that leaves or stalls fails the iteration, so
 * that nobody takes half of an upload for the whole.
 */
export async function* uploadBody(request: IncomingMessage, stalledMs: number): AsyncGenerator<Uint8Array> {
  let waitingSince = performance.now();
  const look = setInterval(() => {
    if (waitingSince > 0 && performance.now() - waitingSince > stalledMs) {
      request.destroy(new CaissonError('request_timeout', 'the upload has stalled'));
    }
  }, stalledMs / 4);
  try {
    // Leaving the loop must not end the connection: there is an answer to send.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      waitingSince = 0;
      countRead((chunk as Buffer).byteLength);
      yield chunk as Buffer;
      waitingSince = performance.now();
    }
    if (!request.complete) throw new CaissonError('interrupted', 'the upload was cut off');
  } catch (error) {
    if (error instanceof CaissonError) throw error;
    throw new CaissonError('interrupted', 'the upload was cut off', { cause: error });
  } finally {
    clearInterval(look);
  }
}

/** Reads on what nobody wants, for a moment; then the client gets its answer and may go on with the connection. */
export function lingerOver(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const timer = setTimeout(() => request.destroy(), lingerMs).unref();
  request.once('close', () => clearTimeout(timer));
  request.once('end', () => clearTimeout(timer));
  request.on('error', () => {});
  request.resume();
}
