import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, type TestServer, testServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await testServer({ requestTimeoutMs: 500 });
});
afterAll(() => server.close());

/** Bytes as they are, and what comes back until the server closes. */
function raw(text: string, { keepOpen = false } = {}): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(text);
      if (!keepOpen) socket.end();
    });
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

const post = (body: string, headers: Record<string, string> = {}) =>
  call(server.url, 'POST', '/v1/sandboxes', { body, headers });

describe('bodies', () => {
  test.each([
    ['malformed JSON', '{"a":', 400, 'body_malformed'],
    ['an empty body', '', 400, 'body_malformed'],
    ['a prototype key', '{"__proto__":{"x":1}}', 400, 'body_malformed'],
    ['two megabytes', `{"name":"${'x'.repeat(2_000_000)}"}`, 413, 'body_too_large'],
    ['a list', '[]', 400, 'request_invalid'],
    ['an unknown key', '{"spce":{}}', 400, 'request_invalid'],
    ['a name with a newline', '{"name":"a\\nb"}', 400, 'request_invalid'],
    ['a name with NUL', '{"name":"a\\u0000b"}', 400, 'request_invalid'],
    ['half a surrogate in a label', '{"labels":{"a":"\\ud800"}}', 400, 'request_invalid'],
    ['a number as text', '{"waitSeconds":"5"}', 400, 'request_invalid'],
    ['a spec nested without end', `{"spec":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`, 422, 'spec_invalid'],
    ['a spec with a wrong key', '{"spec":{"repoo":"x"}}', 422, 'spec_invalid'],
    ['an unknown profile', '{"profile":"nope"}', 404, 'profile_not_found'],
  ])('%s gets one clear error', async (_, body, status, code) => {
    const answer = await post(body, { 'content-type': 'application/json' });
    expect(answer).toMatchObject({ status, body: { code, detail: expect.any(String), hint: expect.any(String) } });
    expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|\.ts:\d|at .* \(/);
  });

  test('another media type is refused; YAML is read', async () => {
    expect(await post('<a/>', { 'content-type': 'application/xml' })).toMatchObject({
      status: 415,
      body: { code: 'media_type_unsupported' },
    });
    expect(await post('labels: {from: yaml}\n', { 'content-type': 'application/yaml' })).toMatchObject({
      status: 201,
      body: { labels: { from: 'yaml' } },
    });
    expect(await post('a: *nothing', { 'content-type': 'application/yaml' })).toMatchObject({
      status: 400,
      body: { code: 'body_malformed' },
    });
  });

  test('every problem of a request is told at once, with its path', async () => {
    const answer = await post('{"name":"A","labels":{"a":1},"ttlSeconds":-1}', { 'content-type': 'application/json' });
    expect(answer.body.problems.map(({ path }: { path: string }) => path).sort()).toEqual([
      'labels.a',
      'name',
      'ttlSeconds',
    ]);
  });
});

test('whoever has no key is told so before the body is looked at', async () => {
  const other = await testServer();
  await call(other.url, 'POST', '/v1/keys', { body: { name: 'first' } });
  const yaml = Array.from({ length: 60_000 }, (_, n) => `k${n}: 1`).join('\n');
  const answer = await call(other.url, 'POST', '/v1/sandboxes', {
    body: yaml,
    headers: { 'content-type': 'application/yaml' },
  });
  expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  await other.close();
});

test('NUL in a label of a query is refused, not given to the database', async () => {
  expect(await call(server.url, 'GET', '/v1/sandboxes?label=a%3D%00')).toMatchObject({
    status: 400,
    body: { code: 'request_invalid' },
  });
});

test('a key that is not known is shown cut short', async () => {
  const answer = await post(JSON.stringify({ ['x'.repeat(500_000)]: 1 }), { 'content-type': 'application/json' });
  expect(JSON.stringify(answer.body).length).toBeLessThan(2_000);
});

describe('connections', () => {
  test('headers without end are refused', async () => {
    expect(await raw(`GET /v1/version HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 .*headers_too_large/s,
    );
  });

  test('what is not HTTP is refused', async () => {
    expect(await raw('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*request_invalid/s);
  });

  test('a client that never finishes its request is let go', async () => {
    expect(
      await raw(
        'POST /v1/sandboxes HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{',
        { keepOpen: true },
      ),
    ).toMatch(/^HTTP\/1\.1 408/);
    expect(await raw('GET /v1/ver', { keepOpen: true })).toMatch(/^HTTP\/1\.1 408/);
  });

  test('an offer of HTTP/2 is ignored, with and without a body', async () => {
    const offer =
      'host: localhost\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n';
    const get = await raw(`GET /v1/version HTTP/1.1\r\n${offer}\r\nGET /v1/whoami HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    expect(get).toMatch(/^HTTP\/1\.1 200 [\s\S]*"api":"v1"[\s\S]*HTTP\/1\.1 200 [\s\S]*"scope":"admin"/);
    const body = '{"labels":{"by":"h2c"}}';
    const head = `POST /v1/sandboxes HTTP/1.1\r\n${offer}content-type: application/json\r\n`;
    expect(await raw(`${head}content-length: ${body.length}\r\n\r\n${body}`)).toMatch(/^HTTP\/1\.1 201 [\s\S]*h2c/);
  });

  test('a route that is not there says so', async () => {
    expect(await call(server.url, 'GET', '/v1/nothing')).toMatchObject({
      status: 404,
      body: { code: 'route_not_found' },
    });
    expect(await call(server.url, 'PUT', '/v1/sandboxes')).toMatchObject({
      status: 404,
      body: { code: 'route_not_found' },
    });
    expect(await call(server.url, 'GET', '/v1/sandboxes/..%2f..%2fetc')).toMatchObject({ status: 404 });
    expect(await call(server.url, 'GET', `/v1/sandboxes/${'x'.repeat(5_000)}`)).toMatchObject({
      status: 404,
      body: { code: 'route_not_found' },
    });
  });
});

describe('a page in the browser of the user', () => {
  const get = (headers: Record<string, string>) =>
    raw(
      `GET /v1/whoami HTTP/1.1\r\n${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}connection: close\r\n\r\n`,
    );

  test.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '[::2]',
    '',
  ])('is refused under the name %j', async (host) => {
    expect(await get({ host })).toMatch(/ 421 .*host_refused/s);
  });

  test.each(['localhost', 'localhost:1234', '127.0.0.1', '127.9.9.9', '[::1]:80'])(
    '%s is this machine',
    async (host) => {
      expect(await get({ host })).toMatch(/ 200 /);
    },
  );

  test('is refused from another origin, also another port of this machine', async () => {
    const { host } = new URL(server.url);
    for (const origin of ['https://evil.example', 'http://localhost:1', 'null', 'garbage']) {
      expect(await get({ host, origin })).toMatch(/ 421 .*host_refused/s);
    }
    expect(await get({ host, origin: `http://${host}` })).toMatch(/ 200 /);
  });
});
