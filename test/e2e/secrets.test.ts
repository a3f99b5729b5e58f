import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { secretSchema } from '@caisson/contract';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

const value = `value-${randomBytes(12).toString('hex')}`;
const body = { value, domains: ['api.example.com'], header: { name: 'Authorization', format: 'Bearer {}' } };

let server: TestServer;
const keys: Record<string, string> = {};

beforeAll(async () => {
  server = await testServer();
  const acme = { tenant: 'acme', project: 'web', principal: 'ada' };
  const owners = {
    manage: { ...acme, scope: 'manage' },
    read: { ...acme, scope: 'read' },
    neighbour: { ...acme, project: 'ops', scope: 'read' },
    evil: { ...acme, tenant: 'evil', scope: 'admin' },
  };
  for (const [name, owner] of Object.entries(owners)) {
    const made = await request(`${server.folder}/server.sock`, 'POST', '/v1/keys', { name, ...owner });
    keys[name] = String(made.body.secret);
  }
});
afterAll(() => server.close());

const as = (key: string, method: string, path: string, sent?: unknown, headers: Record<string, string> = {}) =>
  call(server.url, method, path, { key: keys[key] ?? '', headers, ...(sent === undefined ? {} : { body: sent }) });

/** Every file below a folder that has one of these texts. */
function filesWith(folder: string, texts: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(folder, name);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
    const bytes = readFileSync(path);
    return texts.some((text) => bytes.includes(text));
  });
}

const spellings = [value, Buffer.from(value).toString('base64').replace(/=+$/, ''), Buffer.from(value).toString('hex')];

test('a secret is answered without its value by every route that answers one', async () => {
  const set = await as('manage', 'PUT', '/v1/secrets/token', body, { 'idempotency-key': 'once' });
  const listed = await as('read', 'GET', '/v1/secrets');
  const wrong = await as('manage', 'PUT', '/v1/secrets/token', {
    ...body,
    domains: [`${value}!`],
    header: { name: `${value} x` },
  });
  const other = await as('manage', 'PUT', '/v1/secrets/other', { ...body, env: 'TOKEN' });
  const deleted = await as('manage', 'DELETE', '/v1/secrets/other');
  expect([set, listed, other, deleted].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(secretSchema.strict().parse(set.body)).toMatchObject({
    name: 'token',
    header: 'Authorization',
    placeholder: null,
  });
  expect(listed.body.items.map(({ name }: { name: string }) => name)).toContain('token');
  expect(wrong.status).toBe(400);
  for (const answer of [set, listed, wrong, other, deleted]) {
    for (const text of spellings) expect(JSON.stringify(answer.body)).not.toContain(text);
  }
});

test.each([
  ['a line break', 'a\r\nX-Evil: 1'],
  ['a NUL', 'a\0b'],
])('a value with %s is refused with one problem that does not show it', async (_, bad) => {
  const { status, body: problem } = await as('manage', 'PUT', '/v1/secrets/bad', { ...body, value: bad });
  expect(status).toBe(400);
  expect(problem.problems).toMatchObject([{ path: 'value' }]);
  expect(JSON.stringify(problem)).not.toContain(JSON.stringify(bad).slice(1, -1));
});

test('neither the database nor anything else in the data folder has the value', async () => {
  await as('manage', 'PUT', '/v1/secrets/token', body);
  expect(filesWith(server.folder, ['api.example.com']).length).toBeGreaterThan(0);
  expect(filesWith(server.folder, spellings)).toEqual([]);
  expect(statSync(join(server.folder, 'secrets.key')).mode & 0o777).toBe(0o600);
});

test('the key is nowhere but in its own file', () => {
  const text = readFileSync(join(server.folder, 'secrets.key'), 'utf8').trim();
  expect(filesWith(server.folder, [text, Buffer.from(text, 'base64').toString('latin1')])).toEqual(['secrets.key']);
});

test('strangers and neighbours see nothing, and delete nothing', async () => {
  await as('manage', 'PUT', '/v1/secrets/token', body);
  expect((await as('evil', 'GET', '/v1/secrets')).body).toEqual({ items: [] });
  expect((await as('neighbour', 'GET', '/v1/secrets')).body).toEqual({ items: [] });
  expect((await as('neighbour', 'GET', '/v1/secrets?project=web')).status).toBe(403);
  const theirs = await as('evil', 'DELETE', '/v1/secrets/token');
  const unknown = await as('evil', 'DELETE', '/v1/secrets/nothing');
  expect(theirs).toMatchObject({ status: 404, body: { code: 'secret_not_found' } });
  expect(theirs.body.detail).toBe(unknown.body.detail.replace('nothing', 'token'));
  await as('evil', 'PUT', '/v1/secrets/token', { ...body, domains: ['evil.example'] });
  const [own] = (await as('read', 'GET', '/v1/secrets')).body.items;
  expect(own).toMatchObject({ name: 'token', domains: ['api.example.com'] });
});

test('who manages reaches the other projects of the tenant', async () => {
  await as('manage', 'PUT', '/v1/secrets/theirs?project=ops', body);
  expect((await as('neighbour', 'GET', '/v1/secrets')).body.items).toMatchObject([{ name: 'theirs' }]);
  expect((await as('manage', 'DELETE', '/v1/secrets/theirs?project=ops')).status).toBe(200);
});

test('OpenAPI has the value in the request alone, as something that is only written', async () => {
  const { paths } = (await call(server.url, 'GET', '/v1/openapi.json')).body;
  for (const path of ['/v1/secrets', '/v1/secrets/{name}']) {
    for (const operation of Object.values(paths[path]) as { responses: unknown; requestBody?: unknown }[]) {
      expect(JSON.stringify(operation.responses)).not.toContain('"value"');
      if (operation.requestBody) expect(JSON.stringify(operation.requestBody)).toContain('"writeOnly":true');
    }
  }
});

test('the SDK sets, lists and deletes', async () => {
  const { secrets } = new Caisson({ baseUrl: server.url, apiKey: keys.manage ?? '' });
  const made = await secrets.set('sdk', { value, domains: ['*.example.com'], env: 'SDK_TOKEN' });
  expect(await secrets.list()).toContainEqual(made);
  expect(await secrets.delete('sdk')).toEqual(made);
  await expect(secrets.delete('sdk')).rejects.toMatchObject({ code: 'secret_not_found' });
});

test('the doctor says whether the key fits, after a restart too, and a wrong key is a wrong key', async () => {
  await as('manage', 'PUT', '/v1/secrets/token', body);
  const check = async (at: TestServer) => {
    const { checks } = (await call(at.url, 'GET', '/v1/doctor', { key: keys.read ?? '' })).body;
    return checks.find(({ name }: { name: string }) => name === 'secrets');
  };
  server = await server.restart();
  expect(await check(server)).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/with the key of secrets\.key in the data folder$/),
  });
  await server.server.close();
  const secretsKey = { text: randomBytes(32).toString('base64') };
  const other = await testServer({ secretsKey }, server.folder);
  expect(await check(other)).toMatchObject({
    ok: false,
    detail: expect.stringContaining('another key than that of CAISSON_SECRETS_KEY'),
  });
  expect((await call(other.url, 'GET', '/v1/secrets', { key: keys.read ?? '' })).status).toBe(200);
  await other.server.close();
  server = await testServer({ secretsKey: { file: join(server.folder, 'none') } }, server.folder);
  expect(await check(server)).toMatchObject({ ok: false, detail: expect.stringContaining('ENOENT') });
  expect((await as('manage', 'PUT', '/v1/secrets/token', body)).body).toMatchObject({ code: 'secret_unreadable' });
});
