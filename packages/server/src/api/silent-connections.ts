import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Connections that have not sent a request yet, as clients open them ahead. Node counts them as busy, so that a server
 * which closes would wait for requests that nobody means to send. Gives how to end them.
 */
export function trackSilentConnections(server: Server): () => void {
  const silent = new Set<Socket>();
  const seen = new WeakSet<Socket>();
  server.on('connection', (socket: Socket) => {
    // One that is read again after an offer that was ignored comes here again.
    if (seen.has(socket)) return;
    seen.add(socket);
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  server.on('request', ({ socket }) => silent.delete(socket));
  server.on('upgrade', ({ socket }) => silent.delete(socket));
  return () => {
    for (const socket of silent) socket.destroy();
  };
}
