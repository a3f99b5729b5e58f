import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AuditEntry, newId } from '@caisson/contract';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { call, type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

let server: TestServer;
const keys: Record<string, string> = {};
const as = (key: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  call(server.url, method, path, { key: keys[key] ?? key, ...(body === undefined ? {} : { body }), headers });
const operator = (path: string) => request(`${server.folder}/server.sock`, 'GET', path);
const entries = async (query = ''): Promise<AuditEntry[]> =>
  (await operator(`/v1/audit?limit=200${query}`)).body.items as AuditEntry[];

beforeAll(async () => {
  server = await testServer();
  const key = async (name: string, body: object) => {
    const answer = await request(`${server.folder}/server.sock`, 'POST', '/v1/keys', { name, ...body });
    keys[name] = String(answer.body.secret);
  };
  await key('ada', { tenant: 'acme', project: 'web', principal: 'ada', scope: 'admin', actorType: 'agent' });
  await key('reader', { tenant: 'acme', project: 'web', principal: 'rob', scope: 'read' });
  await key('evil', { tenant: 'evil', project: 'web', principal: 'eve', scope: 'admin' });
});
afterAll(() => server.close());

test('a change is told with who, what, on what, from where and how it ended; reading leaves nothing', async () => {
  const agent = `tester/1 ${'x'.repeat(500)}`;
  const { body: made } = await as('ada', 'POST', '/v1/sandboxes', {}, { 'user-agent': agent });
  await as('ada', 'GET', `/v1/sandboxes/${made.id}`);
  await as('ada', 'GET', '/v1/keys');
  await as('ada', 'DELETE', `/v1/sandboxes/${made.id}`);
  const lines = await entries(`&subject=${made.id}`);
  expect(lines.map(({ action, status }) => [action, status])).toEqual([
    ['sandbox.create', 201],
    ['sandbox.destroy', 200],
  ]);
  expect((await entries('&action=key.list')).length).toBe(0);
  expect(lines[0]).toMatchObject({
    tenant: 'acme',
    project: 'web',
    principal: 'ada',
    actor: 'agent',
    key: expect.stringMatching(/^key/),
    address: '127.0.0.1',
    agent: agent.slice(0, 200),
    code: null,
    count: 1,
  });
});

test('what the user of the machine does comes from the socket', async () => {
  const [first] = await entries('&action=key.create');
  expect(first).toMatchObject({ tenant: 'local', address: 'unix', key: null, status: 201, actor: 'person' });
});

test('what the operator does for a tenant names the tenant', async () => {
  const socket = `${server.folder}/server.sock`;
  await request(socket, 'PUT', '/v1/principals/bot?tenant=other', { role: 'viewer' });
  await request(socket, 'PUT', '/v1/quota', { tenant: 'other', project: 'p', limits: { builds: 1 } });
  await request(socket, 'POST', '/v1/credits', { tenant: 'other', amountMicros: 1 });
  const subjects = (await entries('&tenant=local')).slice(-3).map(({ subject }) => subject);
  expect(subjects).toEqual(['other/bot', 'other/p', 'other']);
});

test('what was refused is told, of those we know and of strangers', async () => {
  await as('reader', 'POST', '/v1/sandboxes', {});
  await as('reader', 'GET', '/v1/keys');
  for (let n = 0; n < 5; n += 1) await as('csn_wrong', 'GET', '/v1/sandboxes');
  const refused = (await entries()).filter(({ status }) => status === 401 || status === 403);
  expect(refused.filter(({ actor }) => actor !== 'stranger')).toMatchObject([
    { actor: 'person', principal: 'rob', action: 'sandbox.create', code: 'scope_missing' },
    { actor: 'person', principal: 'rob', action: 'key.list', code: 'scope_missing' },
  ]);
  const strangers = refused.filter(({ actor }) => actor === 'stranger');
  expect(strangers[0]).toMatchObject({ tenant: null, action: 'sandbox.list', code: 'unauthenticated' });
  expect(strangers.reduce((sum, { count }) => sum + count, 0)).toBe(5);
});

test('a change that fails is told with its code, a WebSocket that is refused too', async () => {
  const none = newId('sandbox');
  await as('ada', 'POST', `/v1/sandboxes/${none}/stop`, {});
  await new Promise<void>((resolve) => {
    const url = `${server.url.replace('http', 'ws')}/v1/sandboxes/${none}/ports/80/connect`;
    const socket = new WebSocket(url, ['caisson', `caisson-key.${keys.ada}`]);
    socket.on('error', () => resolve());
  });
  expect(await entries(`&subject=${none}`)).toMatchObject([{ status: 404, code: 'sandbox_not_found' }]);
  expect(await entries('&action=port.connect')).toMatchObject([{ status: 404, subject: `${none} 80` }]);
});

test('nothing that was sent is in it: no key, no value of a secret, no query', async () => {
  const body = { value: 'hunter2-is-secret', domains: ['example.com'] };
  await as('ada', 'PUT', '/v1/secrets/token', body);
  await as('ada', 'POST', '/v1/keys?hunter2-is-secret=1', { name: 'hunter2-is-secret', scope: 'read' });
  const text = JSON.stringify(await entries());
  expect(text).toContain('"secret.set"');
  expect(text).not.toMatch(/hunter2|csn_/);
});

test('a tenant sees its own, the operator sees all, and an export has every line', async () => {
  const caisson = new Caisson({ baseUrl: server.url, apiKey: keys.evil });
  await caisson.sandboxes.create();
  const own: AuditEntry[] = [];
  for await (const entry of caisson.audit.export()) own.push(entry);
  expect(own.map(({ tenant, action }) => [tenant, action])).toEqual([['evil', 'sandbox.create']]);
  const all = await entries();
  expect(new Set(all.map(({ tenant }) => tenant))).toEqual(new Set(['local', 'acme', 'evil', null]));
  const lines: AuditEntry[] = [];
  for await (const entry of new Caisson({ baseUrl: server.url, apiKey: keys.ada }).audit.export()) lines.push(entry);
  expect(lines).toEqual(all.filter(({ tenant }) => tenant === 'acme'));
});

test('no method changes or removes a line', async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    expect((await as('ada', method, '/v1/audit')).status).toBe(404);
});

test('lines that a killed server left in its file are in the log of the next one, once', async () => {
  await as('ada', 'POST', '/v1/sandboxes', {});
  const line = (id: string, action: string) =>
    JSON.stringify({ ...template, id, action, time: Date.now(), subject: 'left' });
  const id = newId('audit');
  await server.server.close();
  // The last line was cut off by the kill: its request was never answered.
  appendFileSync(join(server.folder, 'audit-pending.0'), `${line(id, 'one')}\n${line(newId('audit'), 'two')}\n`);
  appendFileSync(join(server.folder, 'audit-pending.1'), `${line(id, 'one')}\n{"id":"aud`);
  server = await testServer({}, server.folder);
  const { body } = await as('ada', 'GET', '/v1/audit?subject=left');
  expect(body.items.map(({ action }: AuditEntry) => action)).toEqual(['one', 'two']);
});

const template = {
  actor: 'person',
  tenant: 'acme',
  project: 'web',
  principal: 'ada',
  key: null,
  address: null,
  agent: null,
  status: 201,
  code: null,
  request: null,
  detail: null,
  count: 1,
};
