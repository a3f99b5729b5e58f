import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { EgressWorld, type EgressWorldOptions } from './egress-world.ts';

const worlds: EgressWorld[] = [];
const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const world of worlds.splice(0)) await world.close();
  for (const server of servers.splice(0)) server.close();
});

async function open(options: EgressWorldOptions): Promise<EgressWorld> {
  const world = await EgressWorld.open({ names: { 'example.com': ['127.0.0.1'] }, ...options });
  worlds.push(world);
  return world;
}

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const flood = () =>
  createServer((socket) => {
    const piece = Buffer.alloc(64 * 1024);
    const pour = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', pour);
    pour();
  });

/** Says this to the proxy; what comes is counted, and its beginning kept. */
function say(
  port: number,
  words: string,
): { socket: Socket; size: () => number; head: () => string; closed: Promise<unknown> } {
  const socket = connect(port, '127.0.0.1');
  sockets.add(socket);
  let size = 0;
  let head = '';
  socket.on('data', (piece) => {
    size += piece.length;
    if (head.length < 1000) head += piece.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = new Promise((done) => socket.once('close', done));
  socket.write(words);
  return { socket, size: () => size, head: () => head, closed };
}

const connectTo = (port: number) => `CONNECT example.com:${port} HTTP/1.1\r\n\r\n`;

test('no more connections at once than the rules say, and again when one has ended', async () => {
  const world = await open({ rules: { limits: { connections: 2 } } });
  const port = await listen(createServer(() => {}));
  const first = say(world.httpPort, connectTo(port));
  await expect.poll(first.head).toMatch(/ 200 /);
  const second = say(world.httpPort, connectTo(port));
  await expect.poll(second.head).toMatch(/ 200 /);
  const third = say(world.httpPort, connectTo(port));
  await expect.poll(third.head).toMatch(/^HTTP\/1\.1 429 [\s\S]*why=connection_limit/);
  expect(world.decision()).toMatchObject({ verdict: 'refused', why: 'connection_limit' });
  first.socket.destroy();
  await expect.poll(() => world.gates.openConnections(world.sandbox)).toBe(1);
  const fourth = say(world.httpPort, connectTo(port));
  await expect.poll(fourth.head).toMatch(/ 200 /);
});

test('a flood of connections that say nothing takes the places of one sandbox and no more', async () => {
  const world = await open({});
  const silent = Array.from({ length: 600 }, () => say(world.socksPort, ''));
  await expect.poll(() => world.gates.openConnections(world.sandbox), { timeout: 30_000 }).toBe(512);
  await Promise.race(silent.map(({ closed }) => closed));
  for (const { socket } of silent) socket.destroy();
  await expect.poll(() => world.gates.openConnections(world.sandbox)).toBe(0);
});

test('requests count as connections in what may be begun in a second', async () => {
  const world = await open({ rules: { limits: { connectionsPerSecond: 3 } } });
  const port = await listen(createHttpServer((_, res) => res.end('ok')));
  const request = `GET http://example.com:${port}/ HTTP/1.1\r\n\r\n`;
  const { head } = say(world.httpPort, request.repeat(5));
  await expect.poll(() => head().match(/HTTP\/1\.1 \d+/g)?.length).toBe(5);
  expect(head().match(/HTTP\/1\.1 200/g)?.length).toBe(3);
  expect(head()).toMatch(/429 [\s\S]*why=rate_limit[\s\S]*retry-after: 1/);
});

test('bytes move no faster than the rules say', async () => {
  const world = await open({ rules: { limits: { kibPerSecond: 1024 } } });
  const port = await listen(flood());
  const { size } = say(world.httpPort, connectTo(port));
  const began = performance.now();
  await new Promise((passed) => setTimeout(passed, 1_500));
  const seconds = (performance.now() - began) / 1000;
  // One second's worth at once, what each second adds, and the piece that makes it too much.
  expect(size()).toBeLessThan(1024 * 1024 * (seconds + 1) + 256 * 1024);
  expect(size()).toBeGreaterThan(512 * 1024);
});

test('when all bytes are used, what is open ends and nothing new begins', async () => {
  const world = await open({ rules: { limits: { totalMiB: 2 } }, total: 1024 * 1024 });
  const port = await listen(flood());
  const { size, closed } = say(world.httpPort, connectTo(port));
  await closed;
  expect(size()).toBeLessThan(1024 * 1024 + 256 * 1024);
  expect(world.decision()).toMatchObject({ host: 'example.com', why: 'byte_limit' });
  const next = say(world.httpPort, connectTo(port));
  await expect.poll(next.head).toMatch(/^HTTP\/1\.1 429 [\s\S]*why=byte_limit/);
  await world.change({ limits: {} });
  const more = say(world.httpPort, connectTo(port));
  await expect.poll(more.head).toMatch(/ 200 /);
});

test('bytes are written down while a connection is open', async () => {
  const world = await open({});
  const port = await listen(flood());
  const { size } = say(world.httpPort, connectTo(port));
  await expect.poll(size).toBeGreaterThan(1_000_000);
  await expect.poll(() => world.moved.get('example.com')?.receivedBytes, { timeout: 30_000 }).toBeGreaterThan(0);
});

test('a reader that stops holds the sender back', async () => {
  const world = await open({});
  const port = await listen(flood());
  const { socket, size } = say(world.httpPort, connectTo(port));
  await expect.poll(size).toBeGreaterThan(0);
  socket.pause();
  await new Promise((passed) => setTimeout(passed, 500));
  const before = world.moved.get('example.com')?.receivedBytes ?? 0;
  await new Promise((passed) => setTimeout(passed, 1_100));
  const atRest = world.moved.get('example.com')?.receivedBytes ?? 0;
  await new Promise((passed) => setTimeout(passed, 1_100));
  expect(world.moved.get('example.com')?.receivedBytes).toBe(atRest);
  expect(before).toBeLessThanOrEqual(atRest);
  socket.resume();
  await expect.poll(() => world.moved.get('example.com')?.receivedBytes, { timeout: 30_000 }).toBeGreaterThan(atRest);
});

test('a client that asks for more answers than it waits for is cut off', async () => {
  const world = await open({});
  const port = await listen(createHttpServer(() => {}));
  const { closed } = say(world.httpPort, `GET http://example.com:${port}/ HTTP/1.1\r\n\r\n`.repeat(500));
  await closed;
  await expect.poll(() => world.gates.openConnections(world.sandbox)).toBe(0);
});

test('what is forgotten is closed', async () => {
  const world = await open({});
  const port = await listen(createServer(() => {}));
  const { head, closed } = say(world.httpPort, connectTo(port));
  await expect.poll(head).toMatch(/ 200 /);
  world.gates.forget(world.sandbox);
  await closed;
});
