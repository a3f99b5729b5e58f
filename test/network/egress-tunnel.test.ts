import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
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

async function open(options: EgressWorldOptions = {}): Promise<EgressWorld> {
  const world = await EgressWorld.open({
    ...options,
    names: { 'example.com': ['127.0.0.1'], 'evil.com': ['127.0.0.1'], ...options.names },
  });
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

/** Keeps what comes, and answers nothing. */
async function listener(): Promise<{ port: number; heard: () => string }> {
  let heard = '';
  const port = await listen(
    createServer((socket) => {
      socket.on('data', (piece) => {
        heard += piece.toString('latin1');
      });
    }),
  );
  return { port, heard: () => heard };
}

interface Line {
  readonly socket: Socket;
  readonly heard: () => Buffer;
  /** Resolves when it is over, however. */
  readonly closed: Promise<unknown>;
}

async function dial(port: number): Promise<Line> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  sockets.add(socket);
  let heard = Buffer.alloc(0);
  socket.on('data', (piece) => {
    heard = Buffer.concat([heard, piece]);
  });
  socket.on('error', () => {});
  const closed = new Promise((done) => socket.once('close', done));
  await once(socket, 'connect');
  return { socket, heard: () => heard, closed };
}

async function connectTo(world: EgressWorld, target: string, host = target): Promise<Line> {
  const line = await dial(world.httpPort);
  line.socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await expect.poll(() => line.heard().toString('latin1')).toMatch(/^HTTP\/1\.1 \d+ [^\r]*\r\n/);
  return line;
}

/** A real hello for this name, with the bytes of an extension added where they are given. */
async function helloFor(servername: string): Promise<Buffer> {
  let hello = Buffer.alloc(0);
  const port = await listen(
    createServer((socket) => {
      socket.on('data', (piece) => {
        hello = Buffer.concat([hello, piece]);
      });
    }),
  );
  const client = connectTls({
    port,
    host: '127.0.0.1',
    ...(servername ? { servername } : {}),
    rejectUnauthorized: false,
  });
  client.on('error', () => {});
  await expect.poll(() => hello.length > 5 && hello.length >= 5 + hello.readUInt16BE(3)).toBe(true);
  client.destroy();
  return hello;
}

/** The same hello with one more extension at its end. */
function withExtension(hello: Buffer, type: number, body: Buffer): Buffer {
  const extra = Buffer.concat([Buffer.from([type >> 8, type & 255, body.length >> 8, body.length & 255]), body]);
  const longer = Buffer.concat([hello, extra]);
  longer.writeUInt16BE(longer.length - 5, 3);
  longer.writeUIntBE(longer.length - 9, 6, 3);
  let at = 9 + 34;
  at += 1 + longer.readUInt8(at);
  at += 2 + longer.readUInt16BE(at);
  at += 1 + longer.readUInt8(at);
  longer.writeUInt16BE(longer.length - at - 2, at);
  return longer;
}

const encryptedHello = 0xfe0d;
const byName: EgressWorldOptions = { rules: { mode: 'allowlist', allow: ['example.com'] } };

test('a server that speaks first is heard before the client has said anything', async () => {
  const world = await open();
  const port = await listen(createServer((socket) => socket.write('220 ready\r\n')));
  const line = await connectTo(world, `example.com:${port}`);
  await expect.poll(() => line.heard().toString()).toMatch(/200 Connection established\r\n\r\n220 ready\r\n$/);
});

test('each direction of a tunnel ends by itself, and all bytes are counted', async () => {
  const world = await open();
  const port = await listen(
    createServer({ allowHalfOpen: true }, (socket) => {
      let size = 0;
      socket.on('data', (piece) => {
        size += piece.length;
      });
      socket.on('end', () => socket.end(`got ${size}`));
    }),
  );
  const line = await connectTo(world, `example.com:${port}`);
  line.socket.end(Buffer.alloc(1_000_000, 1));
  await line.closed;
  expect(line.heard().toString()).toMatch(/got 1000000$/);
  await expect
    .poll(() => world.moved.get('example.com'))
    .toEqual({ sentBytes: 1_000_000, receivedBytes: 11, connections: 1 });
});

test('a CONNECT whose Host field names another host is refused', async () => {
  const world = await open();
  const line = await connectTo(world, 'example.com:443', 'evil.com:443');
  expect(line.heard().toString()).toMatch(/^HTTP\/1\.1 403 [\s\S]*why=host_mismatch/);
  expect(world.asked).toEqual([]);
});

test.each(['example.com', 'example.com:0', 'example.com:70000', 'exa%6dple.com:443', '[::1', ':443', 'a b:443'])(
  'a CONNECT to %s is refused',
  async (target) => {
    const world = await open();
    const line = await connectTo(world, target);
    expect(line.heard().toString()).toMatch(/^HTTP\/1\.1 400 /);
    expect(world.asked).toEqual([]);
  },
);

test('TLS for the name that the tunnel is for passes, byte for byte, however it is cut', async () => {
  const world = await open(byName);
  const { port, heard } = await listener();
  const hello = await helloFor('example.com');
  const line = await connectTo(world, `example.com:${port}`);
  for (const byte of hello.subarray(0, 50)) {
    line.socket.write(Buffer.from([byte]));
    await new Promise((next) => setImmediate(next));
  }
  expect(heard()).toBe('');
  line.socket.write(hello.subarray(50));
  await expect.poll(heard).toBe(hello.toString('latin1'));
  expect(world.decision()).toMatchObject({ verdict: 'allowed', protocol: 'connect', address: '127.0.0.1' });
});

test.each([
  ['names another host', () => helloFor('evil.com'), 'sni_mismatch'],
  ['names none', () => helloFor(''), 'sni_hidden'],
  [
    'hides its name',
    async () => withExtension(await helloFor('example.com'), encryptedHello, Buffer.alloc(8)),
    'sni_hidden',
  ],
  ['cannot be read', async () => Buffer.from([22, 3, 1, 0, 5, 1, 0, 0, 1, 9]), 'sni_hidden'],
])('TLS that %s is cut off before anything of it leaves', async (_, make, why) => {
  const world = await open(byName);
  const { port, heard } = await listener();
  const hello = await make();
  const line = await connectTo(world, `example.com:${port}`);
  line.socket.write(hello);
  await line.closed;
  expect(heard()).toBe('');
  expect(world.decision()).toMatchObject({ host: 'example.com', verdict: 'refused', why });
});

test('where names decide nothing TLS may hide its name, and still may not show another one', async () => {
  const world = await open();
  const { port, heard } = await listener();
  const hidden = withExtension(await helloFor('example.com'), encryptedHello, Buffer.alloc(8));
  const line = await connectTo(world, `example.com:${port}`);
  line.socket.write(hidden);
  await expect.poll(heard).toBe(hidden.toString('latin1'));
  const other = await connectTo(world, `example.com:${port}`);
  other.socket.write(await helloFor('evil.com'));
  await other.closed;
  expect(world.decision()).toMatchObject({ why: 'sni_mismatch' });
});

test('TLS to an address may show a name that the rules allow, and no other', async () => {
  const world = await open({ rules: { mode: 'allowlist', allow: ['127.0.0.1', 'example.com'], deny: [] } });
  const { port, heard } = await listener();
  const hello = await helloFor('example.com');
  const good = await connectTo(world, `127.0.0.1:${port}`);
  good.socket.write(hello);
  await expect.poll(heard).toBe(hello.toString('latin1'));
  const bad = await connectTo(world, `127.0.0.1:${port}`);
  bad.socket.write(await helloFor('evil.com'));
  await bad.closed;
  expect(world.decision()).toMatchObject({ verdict: 'refused', why: 'not_allowed' });
});

test('a name that is denied is denied in a handshake to its address too', async () => {
  const world = await open({ rules: { mode: 'open', allow: [], deny: ['evil.com'] } });
  const { port, heard } = await listener();
  const line = await connectTo(world, `127.0.0.1:${port}`);
  line.socket.write(await helloFor('evil.com'));
  await line.closed;
  expect(heard()).toBe('');
  expect(world.decision()).toMatchObject({ verdict: 'refused', why: 'denied', rule: 'evil.com' });
});

test('HTTP in a tunnel is read request by request, and each must be for its host', async () => {
  const world = await open(byName);
  const seen: (string | undefined)[] = [];
  const port = await listen(
    createHttpServer((req, res) => {
      seen.push(req.headers.host);
      res.end('ok');
    }),
  );
  const line = await connectTo(world, `example.com:${port}`);
  line.socket.write(`\r\nGET / HTTP/1.1\r\nHost: example.com:${port}\r\n\r\n`);
  await expect.poll(() => line.heard().toString()).toMatch(/HTTP\/1\.1 200 OK/);
  line.socket.write('GET / HTTP/1.1\r\nHost: evil.com\r\n\r\n');
  await expect.poll(() => line.heard().toString()).toMatch(/why=host_mismatch/);
  expect(seen).toEqual([`example.com:${port}`]);
});

test('HTTP/2 in the clear is cut off where names decide, and passes where they do not', async () => {
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
  const { port, heard } = await listener();
  const strict = await open(byName);
  const line = await connectTo(strict, `example.com:${port}`);
  line.socket.write(preface);
  await line.closed;
  expect(strict.decision()).toMatchObject({ why: 'protocol_unsupported' });
  const free = await connectTo(await open(), `example.com:${port}`);
  free.socket.write(preface);
  await expect.poll(heard).toBe(preface);
});

test('anything else passes as it is', async () => {
  const world = await open(byName);
  const { port, heard } = await listener();
  const line = await connectTo(world, `example.com:${port}`);
  line.socket.write('SSH-2.0-test\r\n');
  await expect.poll(heard).toBe('SSH-2.0-test\r\n');
});

test('when the rules change, what they refuse is closed and the rest goes on', async () => {
  const world = await open();
  const port = await listen(createServer((socket) => socket.on('data', (piece) => socket.write(piece))));
  const stays = await connectTo(world, `example.com:${port}`);
  const goes = await connectTo(world, `evil.com:${port}`);
  for (const { socket } of [stays, goes]) socket.write('\x01hello');
  await expect.poll(() => [stays, goes].every((line) => /hello$/.test(line.heard().toString()))).toBe(true);
  await world.change({ mode: 'allowlist', allow: ['example.com'] });
  await goes.closed;
  expect(world.decision()).toMatchObject({ host: 'evil.com', verdict: 'refused', why: 'rules_changed' });
  stays.socket.write('again');
  await expect.poll(() => stays.heard().toString()).toMatch(/again$/);
});

test('whoever gets it from somebody else has their own rules, for what is open and for what comes', async () => {
  const world = await open();
  const port = await listen(createServer((socket) => socket.on('data', (piece) => socket.write(piece))));
  const before = await connectTo(world, `evil.com:${port}`);
  before.socket.write('\x01hello');
  await expect.poll(() => /hello$/.test(before.heard().toString())).toBe(true);
  await world.handOver({ mode: 'allowlist', allow: ['example.com'] });
  await before.closed;
  await expect.poll(() => world.gates.openConnections(world.sandbox)).toBe(0);
  // Nothing is open now, and so nothing is read before somebody comes.
  await world.handOver({ allow: ['evil.com'] });
  await connectTo(world, `example.com:${port}`);
  expect(world.decision()).toMatchObject({ host: 'example.com', verdict: 'refused' });
  const after = await connectTo(world, `evil.com:${port}`);
  after.socket.write('\x01hello');
  await expect.poll(() => /hello$/.test(after.heard().toString())).toBe(true);
});

test('rules that cannot be read any more close everything', async () => {
  const world = await open();
  const { port } = await listener();
  const line = await connectTo(world, `example.com:${port}`);
  await world.change(undefined);
  await line.closed;
  expect(world.gates.openConnections(world.sandbox)).toBe(0);
});

const socksConnect = (name: string, port: number) =>
  Buffer.concat([
    Buffer.from([5, 1, 0, 5, 1, 0, 3, name.length]),
    Buffer.from(name),
    Buffer.from([port >> 8, port & 255]),
  ]);

test('SOCKS carries a connection to a name that is resolved outside', async () => {
  const world = await open();
  const port = await listen(createServer((socket) => socket.end('hello')));
  const line = await dial(world.socksPort);
  line.socket.write(socksConnect('example.com', port));
  await expect.poll(() => line.heard().toString('latin1')).toMatch(/hello$/);
  expect([...line.heard().subarray(0, 4)]).toEqual([5, 0, 5, 0]);
  expect(world.decisions).toMatchObject([{ host: 'example.com', protocol: 'socks', verdict: 'allowed' }]);
});

test.each([
  ['a host that no rule allows', socksConnect('other.com', 443), 2],
  ['a name that is unknown', socksConnect('unknown.example.com', 443), 4],
  ['a name that cannot be read', socksConnect('exa mple.com', 443), 4],
  ['a private address', Buffer.from([5, 1, 0, 5, 1, 0, 1, 10, 0, 0, 1, 1, 187]), 2],
  [
    'an address of loopback by its other family',
    Buffer.from([5, 1, 0, 5, 1, 0, 4, ...Array(15).fill(0), 1, 1, 187]),
    2,
  ],
  ['a command that is no CONNECT', Buffer.from([5, 1, 0, 5, 3, 0, 1, 10, 0, 0, 1, 1, 187]), 7],
  ['an address of an unknown kind', Buffer.from([5, 1, 0, 5, 1, 0, 9, 0, 0, 0, 0]), 8],
])('SOCKS says in its own words that it refuses %s', async (_, bytes, reply) => {
  const world = await open({
    rules: { mode: 'allowlist', allow: ['*.example.com', '0.0.0.0/0', '::/0', 'exa.com'], deny: [] },
  });
  const line = await dial(world.socksPort);
  line.socket.write(bytes);
  await expect.poll(() => line.heard().length).toBeGreaterThanOrEqual(12);
  expect(line.heard()[3]).toBe(reply);
  expect(world.decision()).toMatchObject({ protocol: 'socks', verdict: 'refused' });
});

test('a SOCKS client that offers no way in that we know is told so', async () => {
  const world = await open();
  const line = await dial(world.socksPort);
  line.socket.write(Buffer.from([5, 1, 2]));
  await expect.poll(() => [...line.heard()]).toEqual([5, 255]);
});

test.each([
  ['SOCKS', Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0]), 'socksPort'],
  ['HTTP', Buffer.from('\x16\x03\x01\x02\x00'), 'httpPort'],
] as const)('what is no %s is refused and closed', async (_, bytes, port) => {
  const world = await open();
  const line = await dial(world[port]);
  line.socket.write(bytes);
  await expect.poll(() => world.decision()).toMatchObject({ verdict: 'refused', why: 'request_malformed' });
});
