import { newId, problemSchema, type Route, type RouteName, routeNames, routes, scopes } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insideSamples } from './inside-samples.ts';
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

/** Answers of success, of what is not there, and of a backend that runs nothing, which the fake is. */
const fairStatuses = [200, 201, 202, 404, 409, 410, 501];

const noDigest = `sha256:${'0'.repeat(64)}`;

/** A request for each route that is right in everything but, perhaps, who sends it. A new route must be added here. */
const samples: Record<RouteName, (id: string) => { path: string; body?: unknown }> = {
  'sandbox.create': () => ({ path: '/v1/sandboxes', body: {} }),
  'sandbox.ensure': () => ({ path: '/v1/sandboxes/ensure', body: { name: `n${newId('request').slice(12)}` } }),
  'sandbox.list': () => ({ path: '/v1/sandboxes' }),
  'sandbox.get': (id) => ({ path: `/v1/sandboxes/${id}` }),
  'sandbox.recreate': (id) => ({ path: `/v1/sandboxes/${id}/recreate`, body: {} }),
  'sandbox.stop': (id) => ({ path: `/v1/sandboxes/${id}/stop`, body: {} }),
  'sandbox.start': (id) => ({ path: `/v1/sandboxes/${id}/start`, body: {} }),
  'sandbox.pause': (id) => ({ path: `/v1/sandboxes/${id}/pause`, body: {} }),
  'sandbox.resume': (id) => ({ path: `/v1/sandboxes/${id}/resume`, body: {} }),
  'sandbox.destroy': (id) => ({ path: `/v1/sandboxes/${id}` }),
  'sandbox.events': (id) => ({ path: `/v1/sandboxes/${id}/events` }),
  'sandbox.attempts': (id) => ({ path: `/v1/sandboxes/${id}/attempts` }),
  'sandbox.attempt': (id) => ({ path: `/v1/sandboxes/${id}/attempts/${newId('attempt')}` }),
  'sandbox.stats': (id) => ({ path: `/v1/sandboxes/${id}/stats` }),
  ...insideSamples,
  'snapshot.create': (id) => ({ path: `/v1/sandboxes/${id}/snapshots`, body: {} }),
  'snapshot.turn': (id) => ({ path: `/v1/sandboxes/${id}/turn-complete`, body: {} }),
  'snapshot.list': () => ({ path: '/v1/snapshots' }),
  'snapshot.get': (id) => ({ path: `/v1/snapshots/${id}` }),
  'snapshot.label': (id) => ({ path: `/v1/snapshots/${id}`, body: { labels: {} } }),
  'snapshot.delete': (id) => ({ path: `/v1/snapshots/${id}` }),
  'snapshot.restore': (id) => ({ path: `/v1/snapshots/${id}/restore`, body: {} }),
  'snapshot.diff': (id) => ({ path: `/v1/snapshots/${id}/diff` }),
  'snapshot.diff.file': (id) => ({ path: `/v1/snapshots/${id}/diff/file?path=/etc/hosts` }),
  'snapshot.export': (id) => ({ path: `/v1/snapshots/${id}/export` }),
  'snapshot.import': () => ({ path: '/v1/snapshots/import', body: {} }),
  'sandbox.rollback': (id) => ({ path: `/v1/sandboxes/${id}/rollback`, body: { snapshot: 'none' } }),
  'sandbox.fork': (id) => ({ path: `/v1/sandboxes/${id}/fork`, body: {} }),
  'port.list': (id) => ({ path: `/v1/sandboxes/${id}/ports` }),
  'port.open': (id) => ({ path: `/v1/sandboxes/${id}/ports/3000`, body: {} }),
  'port.close': (id) => ({ path: `/v1/sandboxes/${id}/ports/3000` }),
  'port.link': (id) => ({ path: `/v1/sandboxes/${id}/ports/3000/links`, body: {} }),
  'port.wait': (id) => ({ path: `/v1/sandboxes/${id}/ports/3000/wait`, body: { timeoutSeconds: 0 } }),
  'port.connect': (id) => ({ path: `/v1/sandboxes/${id}/ports/3000/connect` }),
  'tool.list': () => ({ path: '/v1/tools' }),
  'network.get': (id) => ({ path: `/v1/sandboxes/${id}/network` }),
  'network.set': (id) => ({ path: `/v1/sandboxes/${id}/network`, body: { mode: 'off' } }),
  'egress.log': (id) => ({ path: `/v1/sandboxes/${id}/egress` }),
  'egress.usage': (id) => ({ path: `/v1/sandboxes/${id}/egress/usage` }),
  'network.presets': () => ({ path: '/v1/network/presets' }),
  'plan.make': () => ({ path: '/v1/plan', body: { spec: { source: { kind: 'none' } } } }),
  'build.list': () => ({ path: '/v1/builds' }),
  'build.get': (id) => ({ path: `/v1/builds/${id}` }),
  'build.logs': (id) => ({ path: `/v1/builds/${id}/logs` }),
  'build.cancel': (id) => ({ path: `/v1/builds/${id}/cancel`, body: {} }),
  'attempt.get': (id) => ({ path: `/v1/attempts/${id}` }),
  'image.list': () => ({ path: '/v1/images' }),
  'image.get': () => ({ path: `/v1/images/${noDigest}` }),
  'image.pull': () => ({ path: '/v1/images/pull', body: { reference: 'registry.example/x:y' } }),
  'image.publish': () => ({ path: `/v1/images/${noDigest}/publish`, body: { to: 'registry.example/x:y' } }),
  'image.delete': () => ({ path: `/v1/images/${noDigest}` }),
  'image.gc': () => ({ path: '/v1/images/gc', body: {} }),
  'image.tags': () => ({ path: '/v1/images/tags?repository=registry.example/x' }),
  'image.manifest': () => ({ path: '/v1/images/manifest?reference=registry.example/x:y' }),
  'image.unpublish': () => ({ path: '/v1/images/manifest?reference=registry.example/x:y' }),
  'image.extensions': () => ({ path: '/v1/images/extensions?repository=registry.example/x' }),
  'pool.list': () => ({ path: '/v1/pools' }),
  'pool.set': () => ({ path: '/v1/pools/blank', body: { min: 0, max: 1 } }),
  'route.explain': () => ({ path: '/v1/routes/explain', body: {} }),
  'sandbox.route': (id) => ({ path: `/v1/sandboxes/${id}/route` }),
  'host.inspect': () => ({ path: '/v1/host' }),
  'host.stale': () => ({ path: '/v1/host/stale' }),
  'host.reap': () => ({ path: '/v1/host/reap', body: {} }),
  'capabilities.get': () => ({ path: '/v1/capabilities' }),
  'secret.list': () => ({ path: '/v1/secrets' }),
  'secret.set': () => ({ path: '/v1/secrets/token', body: { value: 'v', domains: ['example.com'] } }),
  'secret.delete': () => ({ path: '/v1/secrets/token' }),
  'event.list': () => ({ path: '/v1/events' }),
  'profile.list': () => ({ path: '/v1/profiles' }),
  'profile.get': () => ({ path: '/v1/profiles/blank' }),
  'profile.check': () => ({ path: '/v1/profiles/check', body: { name: 'mine', version: 1 } }),
  'profile.add': () => ({ path: '/v1/profiles', body: { name: 'mine', version: 1 } }),
  'spec.normalize': () => ({ path: '/v1/spec/normalize', body: { spec: { source: { kind: 'none' } } } }),
  'key.create': () => ({ path: '/v1/keys', body: { name: 'k', scope: 'read' } }),
  'key.list': () => ({ path: '/v1/keys' }),
  'key.revoke': () => ({ path: `/v1/keys/${newId('key')}` }),
  'system.whoami': () => ({ path: '/v1/whoami' }),
  'system.version': () => ({ path: '/v1/version' }),
  'system.health': () => ({ path: '/v1/health' }),
  'usage.list': () => ({ path: '/v1/usage' }),
  'system.doctor': () => ({ path: '/v1/doctor' }),
};

describe.each(routeNames)('%s', (name) => {
  const route: Route = routes[name];

  test('asks for a key, the right scope, and answers as its table says', async () => {
    const sandbox = await make();
    if (name === 'sandbox.start') await as('use', 'POST', `/v1/sandboxes/${sandbox.id}/stop`, {});
    if (name === 'sandbox.resume') await as('use', 'POST', `/v1/sandboxes/${sandbox.id}/pause`, {});
    const { path, body } = samples[name](sandbox.id);
    if (route.scope === null) return expect((await call(server.url, route.method, path)).status).toBe(200);
    expect((await call(server.url, route.method, path, { body })).status).toBe(401);
    expect((await as('csn_wrong', route.method, path, body)).status).toBe(401);
    for (const scope of scopes) {
      const enough = scopes.indexOf(scope) >= scopes.indexOf(route.scope);
      const answer = await as(scope, route.method, path, body);
      if (!enough) expect(answer).toMatchObject({ status: 403, body: { code: 'scope_missing' } });
      else expect(fairStatuses).toContain(answer.status);
      if (answer.status >= 400) problemSchema.parse(answer.body);
      else expect(() => route.responses[answer.status]?.parse(answer.body)).not.toThrow();
    }
  });

  test("answers another tenant's id like one that does not exist, and changes nothing", async () => {
    if (!route.owned) return expect(route.path).not.toContain('{id}');
    const kind = route.owned === 'key' ? 'key' : 'sandbox';
    const sandbox = await make();
    const owned =
      kind === 'key' ? (await as('admin', 'POST', '/v1/keys', { name: 'theirs', scope: 'read' })).body.id : sandbox.id;
    const shape = async (id: string) => {
      const { path, body } = samples[name](id);
      const real = kind === 'key' ? `/v1/keys/${id}` : path;
      const answer = await as('evil', route.method, real, body);
      return { status: answer.status, code: answer.body.code, detail: String(answer.body.detail).replace(id, 'ID') };
    };
    const theirs = await shape(owned);
    expect(theirs).toEqual(await shape(newId(kind)));
    expect(theirs.status).toBe(404);
    expect((await as('use', 'GET', `/v1/sandboxes/${sandbox.id}`)).body).toEqual(sandbox);
  });
});

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
