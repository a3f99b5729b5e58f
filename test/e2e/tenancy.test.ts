import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

let server: TestServer;
const keys: Record<string, string> = {};

/** The operator, on the socket. */
const operator = (method: string, path: string, body?: unknown) =>
  request(`${server.folder}/server.sock`, method, path, body);
const as = (key: string, method: string, path: string, body?: unknown) =>
  call(server.url, method, path, { key: keys[key] ?? key, ...(body === undefined ? {} : { body }) });
const newKey = async (name: string, body: object) => {
  const { body: key } = await operator('POST', '/v1/keys', { name, ...body });
  keys[name] = String(key.secret);
};

beforeAll(async () => {
  server = await testServer();
  await newKey('admin', { tenant: 'acme', project: 'web', principal: 'ada', scope: 'admin' });
  await newKey('agent', { tenant: 'acme', project: 'web', principal: 'bot', scope: 'manage', actorType: 'agent' });
  await newKey('evil', { tenant: 'evil', project: 'web', principal: 'eve', scope: 'admin' });
  await newKey('remote', { tenant: 'local', project: 'default', principal: 'ops', scope: 'admin' });
});
afterAll(() => server.close());

describe('principals', () => {
  test('are of three types; a key tells what a new one is', async () => {
    const { body } = await as('admin', 'GET', '/v1/principals');
    const types = body.items.map((one: { name: string; type: string }) => [one.name, one.type]);
    expect(types).toEqual([
      ['ada', 'person'],
      ['bot', 'agent'],
    ]);
    const changed = await as('admin', 'PUT', '/v1/principals/nightly', { type: 'automation', role: 'viewer' });
    expect(changed.body).toMatchObject({ tenant: 'acme', type: 'automation', role: 'viewer' });
  });

  test('have a role that their keys cannot go beyond, from the moment it is set', async () => {
    expect((await as('agent', 'GET', '/v1/whoami')).body.scope).toBe('manage');
    await as('admin', 'PUT', '/v1/principals/bot', { role: 'viewer' });
    expect((await as('agent', 'GET', '/v1/whoami')).body.scope).toBe('read');
    expect((await as('agent', 'POST', '/v1/sandboxes', {})).body.code).toBe('scope_missing');
    const stronger = await as('admin', 'POST', '/v1/keys', { name: 'x', principal: 'bot', scope: 'use' });
    expect(stronger).toMatchObject({ status: 403, body: { code: 'scope_missing' } });
    await as('admin', 'PUT', '/v1/principals/bot', { role: 'manager' });
    expect((await as('agent', 'POST', '/v1/sandboxes', {})).status).toBe(201);
  });

  test('that are removed leave no key that works', async () => {
    await newKey('gone', { tenant: 'acme', principal: 'gone', scope: 'read' });
    expect((await as('gone', 'GET', '/v1/whoami')).status).toBe(200);
    expect((await as('admin', 'DELETE', '/v1/principals/gone')).body).toMatchObject({ name: 'gone', revokedKeys: 1 });
    expect((await as('gone', 'GET', '/v1/whoami')).status).toBe(401);
    expect((await as('admin', 'DELETE', '/v1/principals/gone')).body.code).toBe('principal_not_found');
  });
});

describe('tenants', () => {
  test('that are suspended are refused, and go on where they were', async () => {
    await newKey('late', { tenant: 'late', project: 'web', principal: 'lee', scope: 'use' });
    const { body: sandbox } = await as('late', 'POST', '/v1/sandboxes', {});
    expect((await operator('PUT', '/v1/tenants/late', { suspended: true })).body).toMatchObject({
      suspended: true,
      sandboxes: 1,
    });
    const refused = await as('late', 'GET', `/v1/sandboxes/${sandbox.id}`);
    expect(refused).toMatchObject({ status: 401, body: { detail: 'the tenant late is suspended' } });
    await operator('PUT', '/v1/tenants/late', { suspended: false });
    expect((await as('late', 'GET', `/v1/sandboxes/${sandbox.id}`)).body.state).toBe('ready');
  });

  test('are all shown to the operator, also from elsewhere, and to each only its own', async () => {
    const names = (answer: { body: { items?: unknown } }) =>
      (answer.body.items as { name: string }[]).map(({ name }) => name);
    expect(names(await operator('GET', '/v1/tenants'))).toEqual(expect.arrayContaining(['acme', 'evil']));
    expect(names(await as('remote', 'GET', '/v1/tenants'))).toEqual(expect.arrayContaining(['acme', 'evil']));
    expect(names(await as('evil', 'GET', '/v1/tenants'))).toEqual(['evil']);
  });

  test.each([
    ['GET', '/v1/projects?tenant=acme'],
    ['GET', '/v1/principals?tenant=acme'],
    ['GET', '/v1/quota?tenant=acme'],
    ['GET', '/v1/credits?tenant=acme'],
    ['GET', '/v1/audit?tenant=acme'],
    ['GET', '/v1/credits/usage?tenant=nobody'],
    ['PUT', '/v1/principals/ada?tenant=acme'],
    ['PUT', '/v1/tenants/acme'],
  ])('another admin gets nothing from %s %s', async (method, path) => {
    const answer = await as('evil', method, path, method === 'PUT' ? {} : undefined);
    expect(answer).toMatchObject({ status: 403, body: { code: 'operator_needed' } });
  });
});

describe('quotas', () => {
  test('of a tenant are the operator’s to set, those of a project its admin’s', async () => {
    const limits = { sandboxes: 1 };
    expect((await as('admin', 'PUT', '/v1/quota', { limits })).body.code).toBe('operator_needed');
    expect((await as('admin', 'PUT', '/v1/quota', { project: 'small', limits })).status).toBe(200);
    expect((await operator('PUT', '/v1/quota', { tenant: 'evil', limits })).status).toBe(200);
  });

  test('refuse with what is used and what may be, and what ends makes room', async () => {
    const first = await as('evil', 'POST', '/v1/sandboxes', {});
    expect(first.status).toBe(201);
    expect(await as('evil', 'POST', '/v1/sandboxes', {})).toMatchObject({
      status: 429,
      body: { code: 'quota_exceeded', context: { resource: 'sandboxes', of: 'tenant', used: 1, limit: 1 } },
    });
    const caisson = new Caisson({ baseUrl: server.url, apiKey: keys.evil });
    const [quota] = await caisson.tenancy.quotas();
    expect(quota?.items.find(({ resource }) => resource === 'sandboxes')).toEqual({
      resource: 'sandboxes',
      used: 1,
      limit: 1,
    });
    await as('evil', 'DELETE', `/v1/sandboxes/${first.body.id}`);
    expect((await as('evil', 'POST', '/v1/sandboxes', {})).status).toBe(201);
  });

  test.each([[{ sandboxes: -1 }], [{ sandboxes: 1.5 }], [{ cpus: 1e12 }], [{ unknown: 1 }], [{ builds: '3' }]])(
    'like %j are refused',
    async (limits) => {
      const answer = await as('admin', 'PUT', '/v1/quota', { project: 'web', limits });
      expect(answer).toMatchObject({ status: 400, body: { code: 'request_invalid' } });
    },
  );
});
