import { CaissonError } from '@caisson/contract';
import { decodeMessage } from '../protocol/decode-message.ts';
import { type MethodName, methods, type Params, type Result } from '../protocol/methods.ts';
import { ProtocolError } from '../protocol/protocol-error.ts';
import type { GuestChannel } from './guest-channel.ts';
import type { GuestConnection, OpenOptions } from './guest-connection.ts';

/** As the connection's, with what the caller did wrong told as ours. */
export function open<M extends MethodName>(
  connection: GuestConnection,
  method: M,
  params: Params<M>,
  options: OpenOptions = {},
): GuestChannel {
  try {
    return connection.open(method, params, options);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    if (error.code === 'too_many_channels') throw new CaissonError('too_many_streams', undefined, { cause: error });
    throw new CaissonError('request_invalid', error.message, { cause: error, context: { method } });
  }
}

/** What the guest answered, checked; a result that breaks a law is the guest's failure. */
export function decodeResult<M extends MethodName>(method: M, payload: Uint8Array): Result<M> {
  try {
    return decodeMessage(methods[method].result, payload) as Result<M>;
  } catch (error) {
    throw new CaissonError('guest_failed', undefined, { cause: error, context: { method } });
  }
}
