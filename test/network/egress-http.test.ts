import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { EgressWorld, type EgressWorldOptions } from './egress-world.ts';

const worlds: EgressWorld[] = [];
const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const world of worlds.splice(0)) await world.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function open(options: EgressWorldOptions = {}): Promise<EgressWorld> {
  const world = await EgressWorld.open({ names: { 'example.com': ['127.0.0.1'] }, ...options });
  worlds.push(world);
  return world;
}

async function serve(handler: (req: IncomingMessage, res: ServerResponse) => void): Promise<number> {
  const server = createServer(handler);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Sends these bytes to a port and gives everything that comes until the end. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.write(Buffer.from(bytes, 'latin1'));
  let answer = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    answer += piece;
  });
  socket.on('error', () => {});
  await new Promise((closed) => socket.once('close', closed));
  return answer;
}

const echo = (req: IncomingMessage, res: ServerResponse) => {
  void text(req).then((body) => {
    res.setHeader('x-seen', 'yes');
    res.end(JSON.stringify({ method: req.method, url: req.url, fields: req.rawHeaders, body, trailers: req.trailers }));
  });
};

function bodyOf(answer: string) {
  return JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1));
}

test('a request goes to the host that it names, without what was for the proxy alone', async () => {
  const world = await open();
  const port = await serve(echo);
  const answer = await exchange(
    world.httpPort,
    `POST http://EXAMPLE.com.:${port}/a?b=c HTTP/1.1\r\nHost: example.com:${port}\r\nProxy-Connection: keep-alive\r\n` +
      'Proxy-Authorization: Basic eA==\r\nConnection: close, x-mine\r\nX-Mine: 1\r\nTE: trailers\r\nX-Twice: 1\r\n' +
      'X-Twice: 2\r\nContent-Length: 5\r\n\r\nhello',
  );
  const seen = bodyOf(answer);
  expect(seen).toMatchObject({ method: 'POST', url: '/a?b=c', body: 'hello' });
  expect(seen.fields).toEqual([
    ...[
      'Host',
      `example.com:${port}`,
      'X-Twice',
      '1',
      'X-Twice',
      '2',
      'Content-Length',
      '5',
      'Connection',
      'keep-alive',
    ],
  ]);
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(answer).toMatch(/x-seen: yes/);
  expect(world.decisions).toMatchObject([
    { host: 'example.com', port, protocol: 'http', address: '127.0.0.1', verdict: 'allowed' },
  ]);
});

test('a request without a Host field gets the one of its address', async () => {
  const world = await open();
  const port = await serve(echo);
  const answer = await exchange(world.httpPort, `GET http://example.com:${port}/ HTTP/1.0\r\n\r\n`);
  expect(bodyOf(answer).fields.slice(0, 2)).toEqual(['Host', `example.com:${port}`]);
});

test('a Host field that names another host than the address is refused, and nothing is dialled', async () => {
  const world = await open();
  const port = await serve(echo);
  const answer = await exchange(world.httpPort, `GET http://example.com:${port}/ HTTP/1.1\r\nHost: other.com\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  expect(answer).toMatch(/x-caisson-egress: refused; why=host_mismatch/);
  expect(world.asked).toEqual([]);
  expect(world.decision()).toMatchObject({ verdict: 'refused', why: 'host_mismatch' });
});

test.each([
  ['a length and a coding', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['two lengths', 'Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd'],
  ['a length with a sign', 'Content-Length: +4\r\n\r\nabcd'],
  ['a coding that hides chunks', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
  ['two codings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n'],
  ['a space before a colon', 'X-Bad : 1\r\n\r\n'],
  ['two Host fields', 'Host: example.com\r\n\r\n'],
  ['a bare line end in a field', 'X-Bad: a\rHost: evil.com\r\n\r\n'],
  ['a NUL in a field', 'X-Bad: a\0b\r\n\r\n'],
])('a request with %s is refused', async (_, rest) => {
  let requests = 0;
  const port = await serve((_, res) => {
    requests += 1;
    res.end();
  });
  const world = await open();
  const head = `POST http://example.com:${port}/ HTTP/1.1\r\nHost: example.com:${port}\r\n`;
  const answer = await exchange(
    world.httpPort,
    `${head}${rest}GET http://example.com:${port}/smuggled HTTP/1.1\r\n\r\n`,
  );
  // What the parser finds out too late for an answer is cut off.
  expect(answer).toMatch(/^(?:HTTP\/1\.1 400 |$)/);
  expect(requests).toBe(0);
  expect(world.decision()).toMatchObject({ verdict: 'refused', why: 'request_malformed' });
});

test('a body in chunks arrives with its trailers, and the answer with its own', async () => {
  const port = await serve((req, res) => {
    void text(req).then((body) => {
      res.writeHead(200, { trailer: 'x-sum' });
      res.write(JSON.stringify({ body, trailer: req.trailers['x-end'] }));
      res.addTrailers({ 'x-sum': '42' });
      res.end();
    });
  });
  const world = await open();
  const answer = await exchange(
    world.httpPort,
    `POST http://example.com:${port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n` +
      '3\r\nabc\r\n0\r\nX-End: yes\r\n\r\n',
  );
  expect(bodyOf(answer)).toEqual({ body: 'abc', trailer: 'yes' });
  expect(answer).toMatch(/\r\n0\r\nx-sum: 42\r\n/i);
});

test('a client that waits for 100 is told when the server is', async () => {
  const port = await serve(echo);
  const server = servers.at(-1) as Server;
  let asked = 0;
  server.on('checkContinue', (req, res) => {
    asked += 1;
    res.writeContinue();
    echo(req, res);
  });
  const world = await open();
  const sent = request({
    ...{ host: '127.0.0.1', port: world.httpPort, method: 'PUT', path: `http://example.com:${port}/` },
    headers: { host: `example.com:${port}`, expect: '100-continue', 'content-length': 4 },
  });
  sent.flushHeaders();
  await once(sent, 'continue');
  sent.end('body');
  const [response] = await once(sent, 'response');
  expect(JSON.parse(await text(response)).body).toBe('body');
  expect(asked).toBe(1);
});

test('what a name resolves to is decided, and the address that was decided is the one that is dialled', async () => {
  const world = await open({
    names: { 'inner.com': ['10.0.0.1', '169.254.169.254'], 'mixed.com': ['10.0.0.1', '127.0.0.1'] },
  });
  const port = await serve(echo);
  const inner = await exchange(world.httpPort, `GET http://inner.com:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`);
  expect(inner).toMatch(/^HTTP\/1\.1 403 [\s\S]*why=private_address/);
  const mixed = await exchange(world.httpPort, `GET http://mixed.com:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`);
  expect(mixed).toMatch(/^HTTP\/1\.1 200 /);
  expect(world.decision()).toMatchObject({ host: 'mixed.com', address: '127.0.0.1' });
});

test('what the rules refuse is not resolved, and the answer says what would allow it', async () => {
  const world = await open({ rules: { mode: 'allowlist', allow: ['other.com'] } });
  const answer = await exchange(world.httpPort, 'GET http://example.com/ HTTP/1.1\r\nConnection: close\r\n\r\n');
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  expect(answer).toContain(`caisson network allow ${world.sandbox} example.com:80`);
  expect(world.asked).toEqual([]);
});

test('without rules nothing passes', async () => {
  const world = await open();
  world.rules = undefined;
  const answer = await exchange(world.httpPort, 'GET http://example.com/ HTTP/1.1\r\nConnection: close\r\n\r\n');
  expect(answer).toMatch(/^HTTP\/1\.1 403 [\s\S]*why=network_off/);
  expect(world.asked).toEqual([]);
});

test.each([
  ['a path alone', '/', 400],
  ['another scheme', 'ftp://example.com/', 501],
  ['https in the clear', 'https://example.com/', 501],
  ['a user in its address', 'http://me@example.com/', 400],
  ['an address that is none', 'http://exa mple.com/', 400],
])('a request with %s is refused', async (_, url, status) => {
  const world = await open();
  const answer = await exchange(world.httpPort, `GET ${url} HTTP/1.1\r\nConnection: close\r\n\r\n`);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(world.asked).toEqual([]);
});

test('a host that does not answer is told as such', async () => {
  const world = await open();
  const port = await serve(echo);
  servers.pop()?.close();
  const answer = await exchange(
    world.httpPort,
    `GET http://example.com:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n[\s\S]*x-caisson-egress: unreached; why=unreachable/);
  expect(answer).toMatch(/could not be reached: it does not answer/);
  expect(answer).not.toContain('efused by Caisson');
});

test('one connection serves many requests, on one connection outside', async () => {
  const world = await open();
  const port = await serve(echo);
  let connections = 0;
  servers.at(-1)?.on('connection', () => {
    connections += 1;
  });
  const one = `GET http://example.com:${port}/ HTTP/1.1\r\n\r\n`;
  const answer = await exchange(
    world.httpPort,
    `${one.repeat(5)}GET http://example.com:${port}/last HTTP/1.1\r\nConnection: close\r\n\r\n`,
  );
  expect(answer.match(/HTTP\/1\.1 200/g)?.length).toBe(6);
  const next = await exchange(world.httpPort, `GET http://example.com:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`);
  expect(next).toMatch(/^HTTP\/1\.1 200/);
  expect(connections).toBeLessThanOrEqual(6);
  expect(world.decisions.length).toBe(7);
});

test('a connection that the server closed meanwhile is not used for the next request', async () => {
  const world = await open();
  const port = await serve((_, res) => res.end('ok'));
  const get = () => exchange(world.httpPort, `GET http://example.com:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`);
  expect(await get()).toMatch(/^HTTP\/1\.1 200/);
  servers.at(-1)?.closeAllConnections();
  expect(await get()).toMatch(/^HTTP\/1\.1 200/);
});

test('a WebSocket is carried both ways', async () => {
  const world = await open();
  const port = await serve(echo);
  servers.at(-1)?.on('upgrade', (req, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${req.headers.upgrade}\r\nConnection: Upgrade\r\n\r\nhi`,
    );
    socket.on('data', (piece) => socket.write(piece.toString().toUpperCase()));
    setTimeout(() => socket.end(), 100);
  });
  const answer = await exchange(
    world.httpPort,
    `GET http://example.com:${port}/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 101 /);
  expect(answer).toMatch(/hiEARLY$/);
});

test('a wish to speak HTTP/2 in the clear is not passed on', async () => {
  const world = await open();
  const port = await serve(echo);
  const answer = await exchange(
    world.httpPort,
    `GET http://example.com:${port}/ HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(bodyOf(answer).fields).not.toContain('h2c');
});

test('bytes of requests and answers are counted for their host', async () => {
  const world = await open();
  const port = await serve((_, res) => res.end('x'.repeat(100_000)));
  await exchange(world.httpPort, `GET http://example.com:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`);
  await expect.poll(() => world.moved.get('example.com')?.receivedBytes).toBeGreaterThan(100_000);
  expect(world.moved.get('example.com')).toMatchObject({ connections: 1 });
});

test('a redirect is the next request and is decided like the first', async () => {
  const world = await open();
  const port = await serve((_, res) => res.writeHead(302, { location: 'http://169.254.169.254/latest' }).end());
  const first = await exchange(world.httpPort, `GET http://example.com:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`);
  expect(first).toMatch(/^HTTP\/1\.1 302 [\s\S]*location: http:\/\/169\.254\.169\.254\/latest/);
  const second = await exchange(
    world.httpPort,
    'GET http://169.254.169.254/latest HTTP/1.1\r\nConnection: close\r\n\r\n',
  );
  expect(second).toMatch(/why=private_address/);
});
