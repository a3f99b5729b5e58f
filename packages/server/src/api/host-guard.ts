import type { IncomingHttpHeaders } from 'node:http';
import { CaissonError } from '@caisson/contract';
import { isLoopback, type Listener } from './listener.ts';

/**
 * A server on loopback trusts what the machine's own programs send. A web page in the user's browser is not one of them,
 * though it can reach the same address: by a name that it points at loopback (the Host tells), or by a request across
 * origins (the Origin tells). Both are refused before anything is looked at.
 */
export function guardHost(listener: Listener, headers: IncomingHttpHeaders, allowHosts: readonly string[]): void {
  const guarded = listener.kind === 'unix' || isLoopback(listener.host);
  if (!guarded) return;
  if (!isOwnHost(listener, headers, allowHosts)) {
    throw new CaissonError('host_refused', `this server is not ${headers.host}`);
  }
  const { origin } = headers;
  if (origin === undefined) return;
  const from = URL.canParse(origin) ? new URL(origin) : undefined;
  // A page of another port of this machine is another origin too: only our own page may call.
  const own = from !== undefined && from.host === (headers.host ?? '').toLowerCase();
  if (!own && !(from && allowHosts.includes(from.hostname))) {
    throw new CaissonError('host_refused', `requests from ${origin} are refused`);
  }
}

/** Whether the request asks for this server by a name that is its own; where it can be reached from outside, any may be. */
export function isOwnHost(listener: Listener, headers: IncomingHttpHeaders, allowHosts: readonly string[]): boolean {
  if (listener.kind !== 'tcp' || !isLoopback(listener.host)) return true;
  const host = hostName(headers.host ?? '');
  return isLoopback(host) || allowHosts.includes(host.toLowerCase());
}

function hostName(host: string): string {
  return host.replace(/:\d+$/, '');
}
