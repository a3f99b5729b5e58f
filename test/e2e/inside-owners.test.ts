import {
  fileRoutes,
  newId,
  processRoutes,
  type Route,
  type RouteName,
  routes,
  type Scope,
  scopes,
  toolRoutes,
} from '@caisson/contract';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { whyNoGuest } from '../../packages/guest/testing/start-guest.ts';
import { GuestDriver } from './guest-driver.ts';
import { insideSamples } from './inside-samples.ts';
import { collect, webSocket } from './inside-world.ts';
import { call, type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

/** Every route of what happens inside, with a real guest: who may, who may not, and who must not even learn of it. */
const reason = whyNoGuest();
const names = [...Object.keys(processRoutes), ...Object.keys(fileRoutes), ...Object.keys(toolRoutes)].filter(
  (name): name is keyof typeof insideSamples => name in insideSamples,
);
const driver = new GuestDriver();
const keys: Record<string, string> = {};
let server: TestServer;
let sandbox = '';
let sleeper = '';

beforeAll(async () => {
  if (reason !== undefined) return;
  server = await testServer({ drivers: [driver] });
  const acme = { tenant: 'acme', project: 'web', principal: 'ada' };
  const make = async (name: string, body: object) => {
    const { body: key } = await request(`${server.folder}/server.sock`, 'POST', '/v1/keys', { name, ...body });
    keys[name] = String(key.secret);
  };
  for (const scope of scopes) await make(scope, { ...acme, scope });
  await make('bob', { ...acme, principal: 'bob', scope: 'use' });
  await make('evil', { tenant: 'evil', project: 'web', principal: 'ada', scope: 'admin' });
  sandbox = (await as('use', 'POST', '/v1/sandboxes', {})).body.id;
  sleeper = (await as('use', 'POST', `/v1/sandboxes/${sandbox}/processes`, { command: 'sleep 600', stdin: true })).body
    .id;
}, 120_000);
afterAll(async () => {
  await server?.close();
  await driver.stopAll();
});

const as = (key: string, method: string, path: string, body?: unknown) =>
  call(server.url, method, path, { key: keys[key] ?? key, ...(body === undefined ? {} : { body }) });

const ask = (key: string, name: keyof typeof insideSamples, id = sandbox, process = sleeper) => {
  const { path, body } = insideSamples[name](id, process);
  return as(key, routes[name].method, path, body);
};

describe.skipIf(reason !== undefined).each(names)('%s', (name) => {
  const route: Route = routes[name as RouteName];

  test('asks for a key and the right scope', async () => {
    expect((await ask('csn_wrong', name)).status).toBe(401);
    for (const scope of scopes) {
      const enough = scopes.indexOf(scope) >= scopes.indexOf(route.scope as Scope);
      const { status, body } = await ask(scope, name);
      if (!enough) expect({ status, code: body.code }).toEqual({ status: 403, code: 'scope_missing' });
      else expect([401, 403, 500, 501]).not.toContain(status);
    }
  });

  test("answers another tenant's sandbox like one that does not exist", async () => {
    const shape = async (id: string) => {
      const { status, body } = await ask('evil', name, id);
      return { status, code: body.code, detail: String(body.detail).replace(id, 'ID') };
    };
    const theirs = await shape(sandbox);
    expect(theirs).toEqual(await shape(newId('sandbox')));
    expect(theirs).toMatchObject({ status: 404, code: 'sandbox_not_found' });
  });

  test('lets another principal of the project look, and change nothing', async () => {
    const { status, body } = await ask('bob', name);
    if (route.scope === 'read') expect([403, 500]).not.toContain(status);
    else expect({ status, code: body.code }).toEqual({ status: 403, code: 'not_owner' });
  });
});

describe.skipIf(reason !== undefined)('a WebSocket', () => {
  const attach = (key: string | undefined, headers: Record<string, string> = {}) =>
    new Promise<number>((resolve) => {
      const url = `${server.url.replace('http', 'ws')}/v1/sandboxes/${sandbox}/processes/${sleeper}/attach`;
      const socket = new WebSocket(url, key === undefined ? [] : ['caisson', `caisson-key.${key}`], { headers });
      socket.on('error', () => {});
      socket.once('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
      socket.once('open', () => {
        expect(socket.protocol).not.toContain('csn_');
        socket.close();
        resolve(101);
      });
    });

  test('asks for a key, the scope and the owner, in a header or as a protocol', async () => {
    expect(await attach(undefined)).toBe(401);
    expect(await attach('csn_wrong')).toBe(401);
    expect(await attach(keys.read)).toBe(403);
    expect(await attach(keys.bob)).toBe(403);
    expect(await attach(keys.evil)).toBe(404);
    expect(await attach(keys.use)).toBe(101);
    expect(await attach(undefined, { authorization: `Bearer ${keys.use}` })).toBe(101);
  });

  test('ends with its key', async () => {
    const { body: key } = await as('admin', 'POST', '/v1/keys', { name: 'short', scope: 'use' });
    const mine = await new Caisson({ baseUrl: server.url, apiKey: key.secret, webSocket }).sandboxes.get(sandbox);
    const reading = collect(mine.processes.attach(sleeper));
    reading.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
    await as('admin', 'DELETE', `/v1/keys/${key.id}`);
    await expect(reading).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

describe.skipIf(reason !== undefined)('a paused sandbox that use resumes', () => {
  test('is left alone by those who may only look', async () => {
    const { body: made } = await as('use', 'POST', '/v1/sandboxes', { autoResume: true });
    await as('use', 'POST', `/v1/sandboxes/${made.id}/pause`, {});
    const look = (key: string) => as(key, 'GET', `/v1/sandboxes/${made.id}/files/stat?path=/etc`);
    for (const key of ['read', 'bob']) expect(await look(key)).toMatchObject({ body: { code: 'sandbox_paused' } });
    expect((await look('evil')).status).toBe(404);
    expect((await as('use', 'GET', `/v1/sandboxes/${made.id}`)).body.state).toBe('paused');
    expect((await look('use')).status).toBe(200);
    expect((await as('use', 'GET', `/v1/sandboxes/${made.id}`)).body.state).toBe('ready');
  });
});
