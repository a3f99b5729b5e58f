import type { IncomingHttpHeaders } from 'node:http';
import type { PreviewAddresses, PreviewTarget } from './preview-address.ts';

/**
 * Whether a browser sends this for a page of somebody else. Names below one domain are one site, so that a browser gives
 * the cookie of a port also to what a neighbour's page asks of it: to a WebSocket, a script, a form. A cookie counts only
 * for pages of the same sandbox, and for whoever goes there by an address or a link.
 */
export function isForeignPage(
  headers: IncomingHttpHeaders,
  target: PreviewTarget,
  addresses: PreviewAddresses,
): boolean {
  const { origin, referer } = headers;
  const site = headers['sec-fetch-site'];
  if (origin === undefined) {
    const isInside = site === undefined || site === 'same-origin' || site === 'none';
    if (isInside || headers['sec-fetch-mode'] === 'navigate') return false;
    return !isOwn(referer, headers.host, target, addresses);
  }
  // By path a page is nobody, also to itself.
  if (origin === 'null' && target.prefix !== '') return false;
  return !isOwn(origin, headers.host, target, addresses);
}

function isOwn(
  url: string | undefined,
  host: string | undefined,
  target: PreviewTarget,
  addresses: PreviewAddresses,
): boolean {
  if (url === undefined || !URL.canParse(url)) return false;
  const from = new URL(url).host;
  return from === host?.toLowerCase() || addresses.byHost(from)?.sandbox === target.sandbox;
}
