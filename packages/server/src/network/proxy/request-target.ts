import { hostText, readTarget, type Target } from '../rules/host.ts';
import { printable, type Refused } from './refused.ts';

export interface RequestTarget {
  readonly target: Target;
  /** As it is asked of the server. */
  readonly path: string;
}

const absolute = /^http:\/\/([^/?#]*)([^#]*)$/i;
const otherScheme = /^[a-z][a-z0-9+.-]*:/i;

/**
 * What a request is for. Through a proxy it says so itself, with the whole address; on a connection that is for one
 * target the request names a path alone. The Host field must agree, because a server goes by that field.
 */
export function readRequestTarget(url: string, hosts: readonly string[], fixed?: Target): RequestTarget | Refused {
  const found = fixed ? onFixed(url, fixed) : throughProxy(url);
  if ('why' in found) return found;
  const { target } = found;
  if (hosts.length > 1) return { why: 'request_malformed', target, detail: 'It has several Host fields.' };
  const [host] = hosts;
  if (host === undefined) return found;
  const named = readTarget(host, fixed ? fixed.port : 80);
  if (named && isSame(named, target)) return found;
  return { why: 'host_mismatch', target, detail: `Its Host field says ${printable(host)}.` };
}

export function isSame(one: Target, other: Target): boolean {
  return one.port === other.port && one.host.kind === other.host.kind && hostText(one.host) === hostText(other.host);
}

/** The Host field for a target: without its port where that is the usual one. */
export function hostField({ host, port }: Target, usualPort: number): string {
  const text = hostText(host);
  const bracketed = text.includes(':') ? `[${text}]` : text;
  return port === usualPort ? bracketed : `${bracketed}:${port}`;
}

function throughProxy(url: string): RequestTarget | Refused {
  const parts = absolute.exec(url);
  if (!parts) {
    if (otherScheme.test(url) && !/^http:/i.test(url)) return { why: 'protocol_unsupported', sent: printable(url) };
    const detail = 'This is a proxy: a request names its whole address.';
    return { why: 'request_malformed', sent: printable(url), detail };
  }
  const [, authority = '', rest = ''] = parts;
  const target = readTarget(authority, 80);
  if (!target) return { why: 'name_invalid', sent: printable(authority) };
  return { target, path: rest.startsWith('/') ? rest : `/${rest}` };
}

function onFixed(url: string, target: Target): RequestTarget | Refused {
  if (url.startsWith('/') || url === '*') return { target, path: url };
  return { why: 'request_malformed', target, detail: 'A request on this connection names a path alone.' };
}
