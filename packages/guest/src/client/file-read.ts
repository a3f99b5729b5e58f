import { CaissonError } from '@caisson/contract';
import type { Params, Result } from '../protocol/methods.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { GuestClient } from './guest-client.ts';
import { decodeResult, open } from './open-channel.ts';
import { ConnectionLost } from './translate-error.ts';

type Entry = Result<'file.read'>['entry'];
type Where = Omit<Params<'file.read'>, 'offset'>;

/** A round trip through a busy event loop is about a millisecond; at 1 GB/s that is this much on its way. */
const readWindow = 2 * 1024 * 1024;

/** The same file as before the connection was lost: neither replaced nor written meanwhile. */
function isSame(a: Entry, b: Entry): boolean {
  return a.size === b.size && a.mtimeSeconds === b.mtimeSeconds && a.mtimeNanoseconds === b.mtimeNanoseconds;
}

export async function* readFile(
  client: GuestClient,
  where: Where,
  options: { readonly offset?: number; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<Uint8Array, Entry | undefined> {
  let offset = options.offset ?? 0;
  let left = where.length;
  let entry: Entry | undefined;
  for (;;) {
    const connection = await client.connected(options.signal);
    let channel: GuestChannel | undefined;
    try {
      const params = { ...where, offset, ...(left === undefined ? {} : { length: left }) };
      channel = open(connection, 'file.read', params, { signal: options.signal, window: readWindow });
      const found = decodeResult('file.read', await channel.result).entry;
      if (entry !== undefined && !isSame(entry, found)) {
        throw new CaissonError('state_changed', 'the file changed while it was being read');
      }
      entry = found;
      for (let chunk = await channel.read(); chunk !== undefined; chunk = await channel.read()) {
        offset += chunk.byteLength;
        if (left !== undefined) left -= chunk.byteLength;
        if (left !== undefined && left < 0)
          throw new CaissonError('guest_failed', 'the guest reads more than was asked');
        yield chunk;
      }
      return entry;
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      await connection.closed;
    } finally {
      channel?.cancel(new Error('the reading was left'));
    }
  }
}
