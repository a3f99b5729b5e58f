import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { addressKey } from './guess-limit.ts';
import { ignoreUpgrade, isIdleOffer } from './ignore-upgrade.ts';
import type { PreviewDoor } from './preview-door.ts';
import { takePreviews } from './take-previews.ts';

const maxHeaderBytes = 16_384;
const headersMs = 15_000;
/** Connections from one place, busy or not. A browser has six for each name. */
const maxPerAddress = 512;

/** A server for previews alone: nothing of the API can be reached here. */
export function createPreviewServer(door: PreviewDoor): Server {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersMs,
    connectionsCheckingInterval: 5_000,
    requestTimeout: 0,
    keepAliveTimeout: 60_000,
  });
  takePreviews(
    server,
    door,
    () => true,
    (request, response) => {
      request.resume();
      response.writeHead(404, { 'content-type': 'text/plain', connection: 'close' }).end('There is no such preview.\n');
    },
  );
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const target = door.find(request, true);
    if (target && isIdleOffer(request)) return ignoreUpgrade(server, request, stream, head);
    stream.on('error', () => {});
    if (!target) return stream.destroy();
    door.upgrade(target, request, stream, head);
  });
  server.on('clientError', (_, socket) => {
    if (!socket.writable) return socket.destroy();
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n', () => socket.destroy());
  });
  boundConnections(server);
  return server;
}

function boundConnections(server: Server): void {
  const counts = new Map<string, number>();
  const seen = new WeakSet<object>();
  server.on('connection', (socket) => {
    // One that is read again after an offer that was ignored comes here twice.
    if (seen.has(socket)) return;
    seen.add(socket);
    const address = addressKey(socket.remoteAddress ?? 'unknown');
    const count = (counts.get(address) ?? 0) + 1;
    if (count > maxPerAddress) return socket.destroy();
    counts.set(address, count);
    socket.once('close', () => {
      const left = (counts.get(address) ?? 1) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    });
  });
}
