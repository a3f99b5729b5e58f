import { newId, problemSchema, type Route, type RouteName, routeNames, routes, scopes } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { whyNoGuest } from '../../packages/guest/testing/start-guest.ts';
import { decisions } from './every-route.ts';
import { GuestDriver } from './guest-driver.ts';
import { routeSamples } from './route-samples.ts';
import { call, type Reply, type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

/** Every route of the OpenAPI document, as a stranger, as another tenant, and with each scope. */
const driver = new GuestDriver();
const hasGuest = whyNoGuest() === undefined;
const keys: Record<string, string> = {};
let server: TestServer;
let shared = '';
let sleeper = '';

const as = (key: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  call(server.url, method, path, { key: keys[key] ?? key, ...(body === undefined ? {} : { body }), headers });
const make = async () => (await as('use', 'POST', '/v1/sandboxes', {})).body.id as string;

beforeAll(async () => {
  server = await testServer(hasGuest ? { drivers: [driver] } : {});
  const acme = { tenant: 'acme', project: 'web', principal: 'ada' };
  const key = async (name: string, body: object) => {
    const answer = await request(`${server.folder}/server.sock`, 'POST', '/v1/keys', { name, ...body });
    keys[name] = String(answer.body.secret);
  };
  for (const scope of scopes) await key(scope, { ...acme, scope });
  await key('evil', { tenant: 'evil', project: 'web', principal: 'eve', scope: 'admin' });
  shared = await make();
  const body = { command: 'sleep 600', stdin: true };
  if (hasGuest) sleeper = (await as('use', 'POST', `/v1/sandboxes/${shared}/processes`, body)).body.id;
}, 120_000);
afterAll(async () => {
  await server?.close();
  await driver.stopAll();
});

/** What a request is about: ours, in the state that the route needs. */
async function subjectOf(name: RouteName): Promise<string> {
  if (name === 'key.revoke') return (await as('admin', 'POST', '/v1/keys', { name: 'theirs', scope: 'read' })).body.id;
  if (!decisions[name].ends) return shared;
  const id = await make();
  if (name === 'sandbox.start') await as('use', 'POST', `/v1/sandboxes/${id}/stop`, {});
  if (name === 'sandbox.resume') await as('use', 'POST', `/v1/sandboxes/${id}/pause`, {});
  return id;
}

function sampleOf(name: RouteName, id: string): { path: string; body?: unknown } {
  if (name === 'key.revoke') return { path: `/v1/keys/${id}` };
  return routeSamples[name](id, sleeper || undefined);
}

/** One that stays open is left as soon as it has begun. */
async function ask(key: string | undefined, name: RouteName, id: string, accept?: string): Promise<Reply> {
  const { path, body } = sampleOf(name, id);
  const route: Route = routes[name];
  const leave = new AbortController();
  const response = await fetch(`${server.url}${path}`, {
    method: route.method,
    signal: leave.signal,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${keys[key] ?? key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(accept === undefined ? {} : { accept }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const type = headers.get('content-type') ?? '';
  if (/event-stream/.test(type)) {
    leave.abort();
    return { status, headers, body: type };
  }
  const text = await response.text();
  return { status, headers, body: /\bjson\b|problem/.test(type) ? JSON.parse(text) : text };
}

/** The status with which a WebSocket is refused, or 101. */
function dial(key: string | undefined, name: RouteName, id: string): Promise<Reply> {
  const { path } = sampleOf(name, id);
  return new Promise((resolve) => {
    const protocols = key === undefined ? [] : ['caisson', `caisson-key.${keys[key] ?? key}`];
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, protocols);
    socket.on('error', () => {});
    socket.once('open', () => {
      socket.terminate();
      resolve({ status: 101, body: '', headers: new Headers() });
    });
    socket.once('unexpected-response', (_, response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text), headers: new Headers() }),
      );
    });
  });
}

/** The ways in which a route can be asked, each with the same rights. */
function waysOf(name: RouteName): [string, (key: string | undefined, id: string) => Promise<Reply>][] {
  const route: Route = routes[name];
  const plain = (key: string | undefined, id: string) => ask(key, name, id);
  if (route.webSocket) return [['as a WebSocket', (key, id) => dial(key, name, id)]];
  if (!route.stream && route.accepts === undefined) return [['', plain]];
  const accept = route.accepts === 'output' ? 'application/vnd.caisson.output' : 'text/event-stream';
  return [
    ['', plain],
    ['as a stream', (key, id) => ask(key, name, id, accept)],
  ];
}

/** Whatever the state of things is: never a refusal of who asks, nor a defect. */
const unfair = [401, 403, 500];
const ours = /acme|"ada"/;

test('each route of the OpenAPI document has an entry, and its scope is the one that was decided', async () => {
  const { body } = await call(server.url, 'GET', '/v1/openapi.json');
  const operations = Object.values(
    body.paths as Record<string, Record<string, { operationId: RouteName; 'x-scope': string }>>,
  );
  const listed = operations.flatMap((methods) => Object.values(methods));
  expect(listed.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(decisions).sort());
  const scopesOf = listed.map((one) => [one.operationId, one['x-scope']]);
  expect(Object.fromEntries(scopesOf)).toEqual(
    Object.fromEntries(Object.entries(decisions).map(([name, { scope }]) => [name, scope])),
  );
});

describe.each(routeNames)('%s', (name) => {
  const route: Route = routes[name];
  const decision = decisions[name];

  test.each(waysOf(name))('answers strangers, others and each scope as was decided %s', async (_, way) => {
    let id = await subjectOf(name);
    if (decision.scope === null) return expect((await way(undefined, id)).status).toBe(200);
    for (const stranger of [undefined, 'csn_wrong', 'nonsense'])
      expect(await way(stranger, id)).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });

    const theirs = await way('evil', id);
    if (decision.elsewhere === '404') {
      const none = newId(name === 'key.revoke' ? 'key' : 'sandbox');
      const nothing = await way('evil', none);
      const words = ({ status, body }: Reply, of: string) => [status, body.code, String(body.detail).replace(of, 'ID')];
      expect(theirs.status).toBe(404);
      expect(words(theirs, id)).toEqual(words(nothing, none));
    } else if (decision.elsewhere === 'refused') expect(theirs).toMatchObject({ status: 403 });
    else {
      expect(unfair).not.toContain(theirs.status);
      expect(JSON.stringify(theirs.body)).not.toMatch(ours);
    }

    for (const scope of scopes) {
      const isEnough = scopes.indexOf(scope) >= scopes.indexOf(decision.scope);
      const answer = await way(scope, id);
      if (answer.status >= 400) problemSchema.parse(answer.body);
      if (!isEnough) expect(answer).toMatchObject({ status: 403, body: { code: 'scope_missing' } });
      else if (decision.operator) expect(answer).toMatchObject({ status: 403, body: { code: 'operator_needed' } });
      else {
        expect(unfair).not.toContain(answer.status);
        const schema = route.responses[answer.status];
        if (schema && typeof answer.body !== 'string') expect(() => schema.parse(answer.body)).not.toThrow();
        if (decision.ends) id = await subjectOf(name);
      }
    }
  });
});
