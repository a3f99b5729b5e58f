import { createServer } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { trackSilentConnections } from './silent-connections.ts';

test('a connection that is read again and again is followed once', () => {
  const server = createServer();
  server.removeAllListeners('connection');
  trackSilentConnections(server);
  const socket = new Socket();
  for (let n = 0; n < 20; n += 1) {
    server.emit('connection', socket);
    server.emit('request', { socket });
  }
  expect(socket.listenerCount('close')).toBe(1);
});

test('what has sent nothing yet is ended, what has is not', () => {
  const server = createServer();
  server.removeAllListeners('connection');
  const end = trackSilentConnections(server);
  const [silent, busy] = [new Socket(), new Socket()];
  for (const socket of [silent, busy]) server.emit('connection', socket);
  server.emit('request', { socket: busy });
  end();
  expect([silent.destroyed, busy.destroyed]).toEqual([true, false]);
});
