import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { EgressWorld, type EgressWorldOptions } from './egress-world.ts';

/** What only somebody who means harm does: to the server's memory and descriptors, and to the counting. */
const worlds: EgressWorld[] = [];
const servers: Server[] = [];
const sockets = new Set<Socket>();
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const world of worlds.splice(0)) await world.close();
  for (const server of servers.splice(0)) server.close();
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A port on which nobody is let in and nobody refused: whoever dials it waits. */
async function deadPort(): Promise<number> {
  const script = `
import socket, time
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(0)
held = [socket.socket() for _ in range(4)]
for one in held:
    one.setblocking(False)
    one.connect_ex(s.getsockname())
print(s.getsockname()[1], flush=True)
time.sleep(60)
`;
  const child = spawn('python3', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(said);
}

/** How many connections of the machine are on their way to a port of loopback, and have not been let in. */
function dialling(port: number): number {
  const place = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')} 02`;
  return readFileSync('/proc/self/net/tcp', 'utf8').split(place).length - 1;
}

async function open(options: EgressWorldOptions): Promise<EgressWorld> {
  const world = await EgressWorld.open({ names: { 'example.com': ['127.0.0.1'] }, ...options });
  worlds.push(world);
  return world;
}

/** Answers every head that comes with these words. */
async function answering(words: string): Promise<{ port: number; open: () => number; heads: () => number }> {
  const open = new Set<Socket>();
  let heads = 0;
  const server = createServer((socket) => {
    open.add(socket);
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => open.delete(socket));
    let rest = '';
    socket.on('data', (piece) => {
      rest += piece.toString('latin1');
      for (let end = rest.indexOf('\r\n\r\n'); end >= 0; end = rest.indexOf('\r\n\r\n')) {
        rest = rest.slice(end + 4);
        heads += 1;
        socket.write(words);
      }
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, open: () => open.size, heads: () => heads };
}

function say(port: number, words: string): { socket: Socket; heard: () => string } {
  const socket = connect(port, '127.0.0.1');
  sockets.add(socket);
  let heard = '';
  socket.on('data', (piece) => {
    heard += piece.toString('latin1');
  });
  socket.on('error', () => {});
  socket.write(words);
  return { socket, heard: () => heard };
}

const empty = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const get = (host: string, more = '') => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;

test('who asks for as many names as there are keeps few connections outside', async () => {
  const names = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`n${n}.test`, ['127.0.0.1']]));
  const world = await open({ names });
  const outside = await answering(empty);
  for (const [n, name] of Object.keys(names).entries()) {
    const { heard, socket } = say(world.httpPort, get(`${name}:${outside.port}`));
    await expect.poll(heard, { interval: 1 }).toMatch(/ 200 /);
    socket.destroy();
    expect(outside.heads()).toBe(n + 1);
  }
  await expect.poll(outside.open).toBeLessThanOrEqual(64);
});

test.each([
  ['a plain request', ''],
  ['an offer of another protocol', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'],
])('a server that answers %s with a protocol of its own is cut off, and the client told', async (_, more) => {
  const world = await open({});
  const outside = await answering('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: evil\r\n\r\n');
  const { heard } = say(world.httpPort, get(`example.com:${outside.port}`, more));
  await expect.poll(heard).toMatch(/^HTTP\/1.1 502 /);
  await expect.poll(outside.open).toBe(0);
});

test('bytes in heads are no way around the speed that the rules allow', async () => {
  const world = await open({ rules: { limits: { kibPerSecond: 1 } } });
  const outside = await answering(empty);
  const { heard, socket } = say(world.httpPort, get(`example.com:${outside.port}`, `X-Out: ${'x'.repeat(60_000)}\r\n`));
  await expect.poll(heard).toMatch(/ 200 /);
  socket.write(get(`example.com:${outside.port}`));
  await expect.poll(heard).toMatch(/ 429 .*why=rate_limit/s);
  expect(outside.heads()).toBe(1);
});

test('the bytes of a request for a WebSocket count as those of any other', async () => {
  const world = await open({});
  const outside = await answering('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
  const more = `Connection: Upgrade\r\nUpgrade: websocket\r\nX-Out: ${'x'.repeat(5_000)}\r\n`;
  const { heard } = say(world.httpPort, get(`example.com:${outside.port}`, more));
  await expect.poll(heard).toMatch(/ 403 /);
  await expect.poll(() => world.moved.get('example.com')?.sentBytes ?? 0).toBeGreaterThan(5_000);
});

test('requests that wait for a name hold no more memory than those that wait for an answer', async () => {
  let answer = (_: readonly string[]) => {};
  const slow = new Promise<readonly string[]>((resolve) => {
    answer = resolve;
  });
  const world = await open({ rules: { limits: { connections: 2 } }, resolve: () => slow });
  const { heard } = say(world.httpPort, get('slow.test').repeat(20));
  const refused = () => world.decisions.filter(({ why }) => why === 'connection_limit').length;
  await expect.poll(refused).toBe(16);
  answer([]);
  await expect.poll(() => heard().split('HTTP/1.1 429 ').length - 1).toBe(16);
});

test.each([
  ['CONNECT', (place: string) => `CONNECT ${place} HTTP/1.1\r\n\r\n`],
  ['plain requests', (place: string) => get(place).repeat(20)],
])('clients that leave while they are dialled for leave nothing behind: %s', async (_, words) => {
  const world = await open({});
  const port = await deadPort();
  const held = dialling(port);
  const clients = Array.from({ length: 5 }, () => say(world.httpPort, words(`127.0.0.1:${port}`)));
  await expect.poll(() => dialling(port)).toBeGreaterThanOrEqual(held + 5);
  for (const { socket } of clients) socket.resetAndDestroy();
  await expect.poll(() => dialling(port), { timeout: 30_000 }).toBe(held);
});
