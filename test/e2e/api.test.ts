import { newId, routeNames, routes, scopes } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

let server: TestServer;
const keys: Record<string, string> = {};

beforeAll(async () => {
  server = await testServer();
  // The first keys are made by the local user of a machine that has none yet.
  const acme = { tenant: 'acme', project: 'web', principal: 'ada' };
  const local = async (name: string, body: object) => {
    const answer = await request(`${server.folder}/server.sock`, 'POST', '/v1/keys', { name, ...body });
    keys[name] = String(answer.body.secret);
  };
  const first = await call(server.url, 'POST', '/v1/keys', { body: { name: 'first', ...acme } });
  expect(first.status).toBe(201);
  for (const scope of scopes) await local(scope, { ...acme, scope });
  await local('evil', { tenant: 'evil', project: 'web', principal: 'ada', scope: 'admin' });
  await local('bob', { ...acme, principal: 'bob', scope: 'use' });
});
afterAll(() => server.close());

const as = (key: string, method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  call(server.url, method, path, {
    key: keys[key] ?? key,
    ...(body === undefined ? {} : { body }),
    ...(headers ? { headers } : {}),
  });
const make = async (change: object = {}) => (await as('use', 'POST', '/v1/sandboxes', change)).body;

test('the OpenAPI document has every route of the table and no other', async () => {
  const { body } = await call(server.url, 'GET', '/v1/openapi.json');
  const listed = Object.entries(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
  );
  expect(body.openapi).toBe('3.1.0');
  expect(listed.sort()).toEqual(routeNames.map((name) => `${name} ${routes[name].method} ${routes[name].path}`).sort());
});

test('the docs page names every route and runs no script', async () => {
  const page = await call(server.url, 'GET', '/docs');
  for (const name of routeNames) expect(page.body).toContain(`id="${name}"`);
  expect(page.body).not.toMatch(/<script/i);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
});

describe('keys', () => {
  test('a revoked key stops at once, an expired one when its time is over', async () => {
    const { body: key } = await as('admin', 'POST', '/v1/keys', { name: 'short', scope: 'read', expiresInSeconds: 1 });
    expect((await as(key.secret, 'GET', '/v1/whoami')).status).toBe(200);
    const { body: other } = await as('admin', 'POST', '/v1/keys', { name: 'other', scope: 'read' });
    expect((await as(other.secret, 'GET', '/v1/whoami')).status).toBe(200);
    await as('admin', 'DELETE', `/v1/keys/${other.id}`);
    expect(await as(other.secret, 'GET', '/v1/whoami')).toMatchObject({
      status: 401,
      body: { detail: 'the API key has been revoked' },
    });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await as(key.secret, 'GET', '/v1/whoami')).toMatchObject({
      status: 401,
      body: { detail: 'the API key has expired' },
    });
  });

  test('X-API-Key does as well as Authorization; no answer ever shows a secret again', async () => {
    const answer = await call(server.url, 'GET', '/v1/keys', { headers: { 'x-api-key': keys.admin ?? '' } });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(answer.body)).not.toContain('csn_');
    expect(answer.body.items.length).toBeGreaterThan(3);
  });

  test('a key makes keys of its own tenant only, and none stronger than itself', async () => {
    expect(await as('admin', 'POST', '/v1/keys', { name: 'x', tenant: 'evil' })).toMatchObject({ status: 403 });
  });

  test('nobody gets a key of the tenant that holds the warm pools', async () => {
    const body = { name: 'x', tenant: 'caisson-system' };
    const answer = await request(`${server.folder}/server.sock`, 'POST', '/v1/keys', body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'request_invalid' } });
  });
});

describe('idempotency keys', () => {
  const create = (key: string, body: object = {}) =>
    as('use', 'POST', '/v1/sandboxes', body, { 'idempotency-key': key });

  test('the same key and body answer the same, ten times at once and afterwards', async () => {
    const key = newId('request');
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(key, { labels: { a: 'b' } })));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    for (const { status } of answers) expect(status).toBe(201);
    await as('use', 'POST', `/v1/sandboxes/${answers[0]?.body.id}/stop`, {});
    const again = await create(key, { labels: { a: 'b' } });
    expect(again).toMatchObject({ status: 201, body: { id: answers[0]?.body.id, state: 'ready' } });
  });

  test('the same key with another body is refused, another caller is not', async () => {
    const key = newId('request');
    const first = await create(key);
    expect(await create(key, { labels: { x: 'y' } })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_key_reused' },
    });
    const other = await as('bob', 'POST', '/v1/sandboxes', {}, { 'idempotency-key': key });
    expect(other.status).toBe(201);
    expect(other.body.id).not.toBe(first.body.id);
  });

  test('a stop that is repeated is done once', async () => {
    const sandbox = await make();
    const stop = () =>
      as('use', 'POST', `/v1/sandboxes/${sandbox.id}/stop`, {}, { 'idempotency-key': `stop-${sandbox.id}` });
    expect(await stop()).toMatchObject({ status: 200, body: { state: 'stopped' } });
    expect(await stop()).toMatchObject({ status: 200, body: { state: 'stopped' } });
    const { body } = await as('use', 'GET', `/v1/sandboxes/${sandbox.id}/events`);
    expect(body.items.filter((event: { type: string }) => event.type === 'caisson.sandbox.stopping')).toHaveLength(1);
  });

  test.each(['', ' ', 'x'.repeat(201), 'a b'])('a key like %j is refused', async (key) => {
    const answer = await create(key);
    expect(answer).toMatchObject({ status: 400, body: { code: 'request_invalid' } });
  });
});

describe('lists', () => {
  test('pages lead through everything and end', async () => {
    for (let n = 0; n < 5; n += 1) await make({ labels: { page: 'yes' } });
    const found: string[] = [];
    let after = '';
    do {
      const { body } = await as('read', 'GET', `/v1/sandboxes?label=page%3Dyes&limit=2${after && `&after=${after}`}`);
      found.push(...body.items.map((item: { id: string }) => item.id));
      after = body.next;
    } while (after !== null);
    expect(found).toHaveLength(5);
    expect(new Set(found).size).toBe(5);
  });

  test.each([
    ['limit=0', 'request_invalid'],
    ['limit=1000', 'request_invalid'],
    ['limit=x', 'request_invalid'],
    ['after=nonsense', 'cursor_invalid'],
    ['state=flying', 'request_invalid'],
    ['label=nope', 'request_invalid'],
    ['unknown=1', 'request_invalid'],
    ['project=other', 'scope_missing'],
  ])('?%s is refused with %s', async (query, code) => {
    expect((await as('use', 'GET', `/v1/sandboxes?${query}`)).body.code).toBe(code);
  });
});
