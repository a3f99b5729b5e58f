import type { Params } from '../protocol/methods.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { GuestClient } from './guest-client.ts';
import { open } from './open-channel.ts';
import { ConnectionLost, fromAbort } from './translate-error.ts';

export type Bytes = Uint8Array | string | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Sends content on a channel and gives the result. Content that can be read again is sent again when the connection is
 * lost; a stream cannot, and its caller learns that the guest was not reached.
 */
export async function sendBytes<M extends 'file.write' | 'file.tar_in'>(
  client: GuestClient,
  method: M,
  params: Params<M>,
  content: Bytes,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const whole = typeof content === 'string' ? Buffer.from(content) : content;
  const chunks = whole instanceof Uint8Array ? [whole] : whole;
  const repeatable = whole instanceof Uint8Array;
  return await client.onConnection(method, signal, async (connection) => {
    const channel = open(connection, method, params, { signal });
    try {
      await pump(channel, chunks, signal);
      return await channel.result;
    } catch (error) {
      if (error instanceof ConnectionLost && !repeatable) throw client.lost(error);
      throw error;
    }
  });
}

async function pump(
  channel: GuestChannel,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  // The result may come first, as a refusal: then there is no point in reading the rest.
  let answered = false;
  const stop = () => {
    answered = true;
  };
  channel.result.then(stop, stop);
  try {
    for await (const chunk of chunks) {
      if (signal?.aborted === true) throw fromAbort(signal);
      if (answered) return;
      await channel.write(chunk);
    }
  } catch (error) {
    // The source failed, or the channel did: in the first case the guest must not take what it has for the whole.
    channel.cancel(error instanceof Error ? error : new Error(String(error)));
    throw error;
  }
  channel.end();
}
