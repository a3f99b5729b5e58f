import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

const offerHeaders = ['upgrade', 'connection', 'http2-settings'];

/**
 * Some clients offer HTTP/2 with every request, which a server may ignore. Node gives such a request to whoever takes
 * WebSockets and has let go of its connection: it is read again without the offer.
 */
export function ignoreUpgrade(server: Server, request: IncomingMessage, stream: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/1.1`];
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at] ?? '';
    if (!offerHeaders.includes(name.toLowerCase())) lines.push(`${name}: ${request.rawHeaders[at + 1]}`);
  }
  stream.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', stream);
}

/** An offer of HTTP/2, or one that comes with a body: what a port could answer to it is nothing that we pass on. */
export function isIdleOffer({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  return hasBody || /\bh2c?\b/i.test(headers.upgrade ?? '');
}
