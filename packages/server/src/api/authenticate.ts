import type { IncomingHttpHeaders } from 'node:http';
import { CaissonError, localOwner } from '@caisson/contract';
import type { Caller } from '../tenancy/caller.ts';
import type { Keys } from '../tenancy/keys.ts';
import { isLoopback, type Listener } from './listener.ts';

/** The user of this machine: whoever may open the socket or, before anybody made a key, reach loopback. */
export const localCaller: Caller = { owner: localOwner, scope: 'admin', key: null };

/** Who sends this request. A key that is given counts, also where none is needed. */
export async function authenticate(listener: Listener, headers: IncomingHttpHeaders, keys: Keys): Promise<Caller> {
  const secret = keyIn(headers);
  if (secret !== undefined) return keys.authenticate(secret);
  if (listener.kind === 'unix') return localCaller;
  if (isLoopback(listener.host) && !(await keys.configured())) return localCaller;
  throw new CaissonError('unauthenticated');
}

function keyIn(headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers;
  const given = headers['x-api-key'];
  if (authorization !== undefined) {
    const bearer = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (bearer === undefined)
      throw new CaissonError('unauthenticated', 'the Authorization header must be `Bearer <key>`');
    return bearer;
  }
  return typeof given === 'string' ? given : undefined;
}
