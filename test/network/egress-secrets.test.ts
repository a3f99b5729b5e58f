import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import type { EgressSecrets, RequestHead } from '../../packages/server/src/network/egress.ts';
import { makeCertificates } from './certificates.ts';
import { EgressWorld, type EgressWorldOptions } from './egress-world.ts';

// The servers outside have certificates of one authority; this installation has another, for the same names.
const outside = makeCertificates('api.com', 'other.com');
const inside = makeCertificates('api.com');

const worlds: EgressWorld[] = [];
const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const world of worlds.splice(0)) await world.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Apply = (head: RequestHead) => { head: RequestHead; used: readonly string[] };

const addToken: Apply = (head) => ({
  head: { ...head, fields: [...head.fields, ['Authorization', 'Bearer s3cret']] },
  used: ['token'],
});

function secretsFor(host: string, apply: Apply): EgressSecrets {
  return {
    find: async (_, name) => (name === host ? { certificate: async () => inside.of(host), apply } : undefined),
  };
}

async function open(apply: Apply = addToken, options: EgressWorldOptions = {}): Promise<EgressWorld> {
  const world = await EgressWorld.open({
    names: { 'api.com': ['127.0.0.1'], 'other.com': ['127.0.0.1'] },
    secrets: secretsFor('api.com', apply),
    extraRoots: [outside.authority],
    ...options,
  });
  worlds.push(world);
  return world;
}

async function serve(
  name = 'api.com',
  handler = (req: IncomingMessage, res: ServerResponse) => {
    res.end(JSON.stringify({ url: req.url, fields: req.rawHeaders }));
  },
): Promise<number> {
  const server = createServer({ ...outside.of(name) }, handler);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** TLS inside a tunnel, by a client that trusts this authority. */
async function secure(world: EgressWorld, name: string, port: number, ca: string): Promise<TLSSocket> {
  const socket = connect(world.httpPort, '127.0.0.1');
  sockets.add(socket);
  socket.write(`CONNECT ${name}:${port} HTTP/1.1\r\nHost: ${name}:${port}\r\n\r\n`);
  const [first] = await once(socket, 'data');
  expect(first.toString()).toMatch(/^HTTP\/1\.1 200 /);
  const tls = connectTls({ socket, servername: name, ca, ALPNProtocols: ['h2', 'http/1.1'] });
  await once(tls, 'secureConnect');
  tls.on('error', () => {});
  return tls;
}

async function ask(tls: TLSSocket, bytes: string, until: RegExp): Promise<string> {
  let heard = '';
  tls.on('data', (piece) => {
    heard += piece.toString('latin1');
  });
  tls.write(bytes);
  await expect.poll(() => heard).toMatch(until);
  return heard;
}

test('a secret is in the request that arrives, and the client has spoken to this installation', async () => {
  const world = await open();
  const port = await serve();
  const tls = await secure(world, 'api.com', port, inside.authority);
  expect(tls.alpnProtocol).toBe('http/1.1');
  const answer = await ask(tls, `GET /a HTTP/1.1\r\nHost: api.com:${port}\r\nX-Mine: 1\r\n\r\n`, /\}$/);
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
  const { fields } = JSON.parse(answer.slice(answer.indexOf('{')));
  expect(fields).toEqual([
    ...['Host', `api.com:${port}`, 'X-Mine', '1', 'Authorization', 'Bearer s3cret', 'Connection', 'keep-alive'],
  ]);
  expect(world.decision()).toMatchObject({ host: 'api.com', verdict: 'allowed', secrets: ['token'] });
});

test('a host without a secret has its own TLS from end to end', async () => {
  const world = await open();
  const port = await serve('other.com');
  const tls = await secure(world, 'other.com', port, outside.authority);
  const answer = await ask(tls, `GET / HTTP/1.1\r\nHost: other.com\r\n\r\n`, /\}$/);
  expect(answer).not.toMatch(/s3cret/);
});

test('a request for another host on a connection with secrets is refused', async () => {
  const world = await open();
  const port = await serve();
  const tls = await secure(world, 'api.com', port, inside.authority);
  await ask(tls, 'GET / HTTP/1.1\r\nHost: other.com\r\n\r\n', /403 [\s\S]*why=host_mismatch/);
  expect(world.decision()).toMatchObject({ verdict: 'refused', why: 'host_mismatch' });
});

test('a server that cannot show a certificate for the host gets no secret', async () => {
  const world = await open();
  let requests = 0;
  const port = await serve('other.com', (_, res) => {
    requests += 1;
    res.end();
  });
  const tls = await secure(world, 'api.com', port, inside.authority);
  const answer = await ask(tls, `GET / HTTP/1.1\r\nHost: api.com:${port}\r\n\r\n`, /502 [\s\S]*why=unreachable/);
  expect(answer).toMatch(/certificate|altnames/i);
  expect(requests).toBe(0);
});

test('a server whose certificate nobody trusts gets no secret', async () => {
  const world = await open(addToken, { extraRoots: [] });
  const port = await serve();
  const tls = await secure(world, 'api.com', port, inside.authority);
  await ask(tls, `GET / HTTP/1.1\r\nHost: api.com:${port}\r\n\r\n`, /502 [\s\S]*why=unreachable/);
});

test.each([
  [
    'ends a line',
    (head: RequestHead) => ({ ...head, fields: [...head.fields, ['X', 'a\r\nHost: evil.com'] as const] }),
  ],
  ['is a bare line end', (head: RequestHead) => ({ ...head, fields: [...head.fields, ['X', 'a\nb'] as const] })],
  ['spoils a name', (head: RequestHead) => ({ ...head, fields: [...head.fields, ['X: y', 'a'] as const] })],
  ['breaks the request line', (head: RequestHead) => ({ ...head, target: '/a HTTP/1.1\r\nX: y' })],
  [
    'changes where a body ends',
    (head: RequestHead) => ({ ...head, fields: [...head.fields, ['Content-Length', '9'] as const] }),
  ],
  ['changes the host', (head: RequestHead) => ({ ...head, fields: [['Host', 'evil.com'] as const] })],
  ['throws', () => Promise.reject(new Error('no')) as never],
])('a secret that %s is never sent', async (_, change) => {
  let requests = 0;
  const port = await serve('api.com', (_, res) => {
    requests += 1;
    res.end();
  });
  const world = await open((head) => {
    if (change.length === 0) throw new Error('no');
    return { head: change(head), used: ['token'] };
  });
  const tls = await secure(world, 'api.com', port, inside.authority);
  await ask(tls, `GET / HTTP/1.1\r\nHost: api.com:${port}\r\n\r\n`, /400 [\s\S]*why=request_malformed/);
  expect(requests).toBe(0);
});

test('a secret is never put into plain HTTP', async () => {
  let applied = 0;
  const world = await open((head) => {
    applied += 1;
    return addToken(head);
  });
  const port = await serve();
  const socket = connect(world.httpPort, '127.0.0.1');
  sockets.add(socket);
  socket.write(`GET http://api.com:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`);
  await once(socket, 'data');
  expect(applied).toBe(0);
});

test('a WebSocket over TLS carries its secret', async () => {
  const world = await open();
  const port = await serve();
  servers.at(-1)?.on('upgrade', (req, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    socket.write(`token ${req.headers.authorization}`);
  });
  const tls = await secure(world, 'api.com', port, inside.authority);
  await ask(
    tls,
    `GET / HTTP/1.1\r\nHost: api.com:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    /101 [\s\S]*token Bearer s3cret$/,
  );
});
