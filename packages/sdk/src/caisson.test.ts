import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CaissonError, newId, toProblem } from '@caisson/contract';
import { afterEach, expect, test } from 'vitest';
import { Caisson } from './caisson.ts';

type Answer = (request: IncomingMessage & { text: string }, response: ServerResponse) => void;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A server that answers one request after the other as told; the last answer stays. */
async function serverOf(...answers: Answer[]) {
  const requests: (IncomingMessage & { text: string })[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const whole = Object.assign(request, { text });
    requests.push(whole);
    answers[Math.min(requests.length, answers.length) - 1]?.(whole, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { baseUrl, requests, caisson: new Caisson({ baseUrl, apiKey: 'csn_test', retries: 2 }) };
}

const json =
  (value: unknown, status = 200): Answer =>
  (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

const problem = (error: CaissonError): Answer => json(toProblem(error, 'req1'), error.status);
const hangUp: Answer = (request) => request.socket.destroy();
const record = (state = 'ready') => ({ id: newId('sandbox'), name: null, state });

test('a sandbox is created with a body and a key, and its handle acts on it', async () => {
  const made = record();
  const { caisson, requests } = await serverOf(json(made, 201), json({ ...made, state: 'destroyed' }));
  const sandbox = await caisson.sandboxes.create({ spec: { repo: 'https://example.org/a.git' } });
  expect(sandbox.id).toBe(made.id);
  await sandbox.destroy({ waitSeconds: 5 });
  expect(sandbox.state).toBe('destroyed');
  expect(JSON.stringify(sandbox)).toBe(JSON.stringify({ ...made, state: 'destroyed' }));
  expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'POST /v1/sandboxes',
    `DELETE /v1/sandboxes/${made.id}?waitSeconds=5`,
  ]);
  expect(JSON.parse(requests[0]?.text ?? '')).toEqual({ spec: { repo: 'https://example.org/a.git' } });
  expect(requests[0]?.headers).toMatchObject({
    authorization: 'Bearer csn_test',
    'idempotency-key': expect.any(String),
  });
});

test('a create whose answer is lost is repeated with the same key', async () => {
  const { caisson, requests } = await serverOf(hangUp, json(record(), 201));
  await caisson.sandboxes.create();
  expect(requests).toHaveLength(2);
  expect(requests[0]?.headers['idempotency-key']).toBe(requests[1]?.headers['idempotency-key']);
});

test('a key that the caller gives is used, and each call has one of its own otherwise', async () => {
  const { caisson, requests } = await serverOf(json(record(), 201));
  await caisson.sandboxes.create({}, { idempotencyKey: 'mine' });
  await caisson.sandboxes.create();
  await caisson.sandboxes.create();
  const keys = requests.map((request) => request.headers['idempotency-key']);
  expect(keys[0]).toBe('mine');
  expect(new Set(keys).size).toBe(3);
});

test('what could be done twice is never repeated', async () => {
  const { caisson, requests } = await serverOf(hangUp);
  await expect(caisson.keys.create({ name: 'ci' })).rejects.toMatchObject({ code: 'server_unreachable' });
  await expect(caisson.sandboxes.destroy(newId('sandbox'))).rejects.toMatchObject({ code: 'server_unreachable' });
  expect(requests).toHaveLength(2);
});

test('a problem becomes the error that it stands for', async () => {
  const problems = [{ path: 'spec.repo', code: 'required', message: 'must be given', hint: 'Add it.' }];
  const { caisson } = await serverOf(problem(new CaissonError('spec_invalid', 'no repo', { problems })));
  await expect(caisson.sandboxes.create()).rejects.toMatchObject({
    code: 'spec_invalid',
    message: 'no repo',
    problems,
    exitCode: 65,
    context: { requestId: 'req1' },
  });
});

test('a page of a proxy is not taken for an answer', async () => {
  const page: Answer = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hi</h1>');
  const { caisson } = await serverOf(page);
  await expect(caisson.version()).rejects.toMatchObject({ code: 'internal', context: { answer: '<h1>Hi</h1>' } });
});

test("a gateway's failure is told as the server being away, and repeated", async () => {
  const gateway: Answer = (_, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('Bad Gateway');
  const { caisson, requests } = await serverOf(gateway, json({ version: '1', api: 'v1' }));
  expect(await caisson.version()).toEqual({ version: '1', api: 'v1' });
  expect(requests).toHaveLength(2);
});

test('a server that is not there is told with its address and the reason', async () => {
  const { baseUrl } = await serverOf();
  await closing.pop()?.();
  const caisson = new Caisson({ baseUrl, retries: 0 });
  await expect(caisson.version()).rejects.toMatchObject({
    code: 'server_unreachable',
    message: expect.stringMatching(/127\.0\.0\.1:\d+.*ECONNREFUSED/),
  });
});

test('an abort rejects with its own reason and is not repeated', async () => {
  const { caisson, requests } = await serverOf(() => {});
  const controller = new AbortController();
  const waiting = caisson.sandboxes.create({}, { signal: controller.signal });
  setTimeout(() => controller.abort(new Error('enough')), 50);
  await expect(waiting).rejects.toThrow('enough');
  expect(requests).toHaveLength(1);
});

test('a list goes through all pages, and one page can be had', async () => {
  const [a, b, c] = [record(), record(), record()];
  const { caisson, requests } = await serverOf(json({ items: [a, b], next: 'x' }), json({ items: [c], next: null }));
  const ids: string[] = [];
  for await (const sandbox of caisson.sandboxes.list({ labels: { team: 'a=b' }, state: ['ready'] }))
    ids.push(sandbox.id);
  expect(ids).toEqual([a?.id, b?.id, c?.id]);
  expect(requests[1]?.url).toBe('/v1/sandboxes?after=x&state=ready&label=team%3Da%3Db');
  expect((await caisson.sandboxes.page()).next).toBeNull();
});

test.each(['ftp://host', 'nonsense', 'http://user:pass@host', 'http://host/?q'])(
  'the address %s is refused',
  (baseUrl) => {
    expect(() => new Caisson({ baseUrl })).toThrow('not valid');
  },
);

test('a key that cannot be one is refused without being named', () => {
  expect(() => new Caisson({ apiKey: 'csn_secret\n' })).toThrow(expect.not.stringContaining('csn_secret'));
});

test('what the API needs is what the types need', () => {
  const caisson = new Caisson();
  const calls = () => [
    // @ts-expect-error: the route has parameters
    caisson.call('sandbox.get'),
    // @ts-expect-error: there is no such route
    caisson.call('sandbox.paint'),
    caisson.call('sandbox.get', { params: { id: 'sbx' } }).then(({ state }) => state satisfies string),
    caisson.call('sandbox.list', { query: { state: ['ready'] } }),
    caisson.call('system.version').then(({ api }) => api satisfies 'v1'),
    // @ts-expect-error: a key has a name
    caisson.call('key.create', { body: {} }),
  ];
  expect(calls).toBeTypeOf('function');
});
