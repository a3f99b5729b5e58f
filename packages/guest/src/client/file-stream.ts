import type { Method } from '../protocol/methods/method.ts';
import { type MethodName, methods, type Params } from '../protocol/methods.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { GuestClient } from './guest-client.ts';
import type { OpenOptions } from './guest-connection.ts';
import { open } from './open-channel.ts';
import { ConnectionLost, guestCodeOf } from './translate-error.ts';

/**
 * What a search or an archive yields, and its result. Asked again on the next connection as long as nothing was yielded;
 * after that a repetition could not be joined to what its caller has, who learns that the guest was not reached.
 */
export async function* streamOnce<M extends MethodName, T>(
  client: GuestClient,
  method: M,
  params: Params<M>,
  options: OpenOptions,
  items: (channel: GuestChannel) => AsyncIterable<T>,
): AsyncGenerator<T, Uint8Array> {
  const { repeat }: Method = methods[method];
  for (;;) {
    const connection = await client.connected(options.signal);
    const channel = open(connection, method, params, options);
    let begun = repeat !== 'pure';
    try {
      for await (const item of items(channel)) {
        begun = true;
        yield item;
      }
      return await channel.result;
    } catch (error) {
      const isLost = error instanceof ConnectionLost || guestCodeOf(error) === 'shutting_down';
      if (!isLost) throw error;
      if (begun) throw client.lost(error);
    } finally {
      channel.cancel(new Error('the stream was left'));
    }
    await connection.closed;
  }
}
