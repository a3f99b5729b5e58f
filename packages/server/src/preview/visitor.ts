import type { IncomingMessage } from 'node:http';
import type { PreviewTarget } from './preview-address.ts';

/** Where a request comes from, as far as that can be believed. */
export interface Visitor {
  readonly address: string;
  readonly scheme: 'http' | 'https';
}

/**
 * What a proxy in front says of its clients is believed only of those proxies that the operator named; to everybody else
 * `X-Forwarded-For` is a thing that anybody can write.
 */
export function visitorOf(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  target: PreviewTarget,
  proxies: readonly string[],
): Visitor {
  const peer = plain(socket.remoteAddress ?? 'unknown');
  const scheme = target.domain?.scheme ?? 'http';
  if (proxies.length === 0 || !proxies.includes(peer)) return { address: peer, scheme };
  const forwarded = headers['x-forwarded-for'];
  // The last one is what the proxy itself saw; what stands before it came from the client.
  const last = (typeof forwarded === 'string' ? forwarded : '').split(',').at(-1)?.trim() ?? '';
  const address = /^[0-9a-fA-F.:]{2,45}$/.test(last) ? plain(last) : peer;
  const said = headers['x-forwarded-proto'];
  return { address, scheme: said === 'https' || said === 'http' ? said : scheme };
}

function plain(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
