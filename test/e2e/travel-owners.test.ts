import { newId, type RouteName, routes, scopes, snapshotRoutes } from '@caisson/contract';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SandboxWorld, spec, whyNoSandboxes } from '../chaos/sandbox-world.ts';
import { skip } from '../conformance/skips.ts';
import { call } from './server.ts';
import { request } from './unix-request.ts';

/** Snapshots through HTTP: who may, what is taken, and what is asked twice. */
const world = new SandboxWorld();
const keys: Record<string, string> = {};
let sandbox = '';
let snapshot = '';

const as = (key: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  call(world.server.url, method, path, {
    key: keys[key] ?? key,
    headers,
    ...(body === undefined ? {} : { body }),
  });

beforeAll(async () => {
  if (whyNoSandboxes !== undefined) return;
  await world.start();
  const acme = { tenant: 'acme', project: 'web', principal: 'ada' };
  const make = async (name: string, body: object) => {
    const { body: key } = await request(`${world.folder}/server.sock`, 'POST', '/v1/keys', { name, ...body });
    keys[name] = String(key.secret);
  };
  for (const scope of scopes) await make(scope, { ...acme, scope });
  await make('bob', { ...acme, principal: 'bob', scope: 'use' });
  await make('elsewhere', { ...acme, project: 'other', scope: 'use' });
  await make('evil', { tenant: 'evil', project: 'web', principal: 'ada', scope: 'admin' });
  sandbox = (await as('use', 'POST', '/v1/sandboxes', { spec })).body.id;
  snapshot = (await as('use', 'POST', `/v1/sandboxes/${sandbox}/snapshots`, { name: 'first' })).body.id;
}, 120_000);
afterAll(async () => {
  if (whyNoSandboxes === undefined) await as('admin', 'DELETE', `/v1/sandboxes/${sandbox}`);
  await world.close();
});
beforeEach((context) => {
  if (whyNoSandboxes !== undefined) skip(context, whyNoSandboxes);
});

type TravelRoute = keyof typeof snapshotRoutes;
const bodies: Partial<Record<TravelRoute, unknown>> = {
  'snapshot.create': {},
  'snapshot.turn': {},
  'snapshot.label': { labels: { a: 'b' } },
  'sandbox.rollback': { snapshot: 'first' },
  'snapshot.restore': {},
  'sandbox.fork': {},
};
const owned = (Object.keys(snapshotRoutes) as TravelRoute[]).filter((name) => name !== 'snapshot.list');

const ask = (key: string, name: TravelRoute, ids = { sandbox, snapshot }) => {
  const { method, path } = routes[name as RouteName];
  const id = path.startsWith('/v1/sandboxes') ? ids.sandbox : ids.snapshot;
  return as(key, method, path.replace('{id}', id), bodies[name]);
};

describe.each(owned)('%s', (name) => {
  test("answers another tenant's like one that does not exist", async () => {
    const shape = async (ids: { sandbox: string; snapshot: string }) => {
      const { status, body } = await ask('evil', name, ids);
      const detail = String(body.detail).replace(ids.sandbox, 'ID').replace(ids.snapshot, 'ID');
      return { status, code: body.code, detail };
    };
    const theirs = await shape({ sandbox, snapshot });
    expect(theirs).toEqual(await shape({ sandbox: newId('sandbox'), snapshot: newId('snapshot') }));
    expect(theirs.status).toBe(404);
    expect((await ask('elsewhere', name)).status).toBe(404);
  });

  test('lets another principal of the project look, and change nothing', async () => {
    const { status, body } = await ask('bob', name);
    if (routes[name as RouteName].scope === 'read') return expect(status).toBe(200);
    // A restore makes something of their own, of what they may see.
    if (name === 'snapshot.restore') {
      expect(body.owner).toEqual({ tenant: 'acme', project: 'web', principal: 'bob' });
      await as('bob', 'DELETE', `/v1/sandboxes/${body.id}`);
      return expect(status).toBe(201);
    }
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'not_owner' });
  });

  test('asks for a key and its scope', async () => {
    expect((await ask('csn_wrong', name)).status).toBe(401);
    if (routes[name as RouteName].scope !== 'read')
      expect((await ask('read', name)).body).toMatchObject({ code: 'scope_missing' });
  });
});

test('another tenant sees none in its list, not by a sandbox of others, nor goes back to one of others', async () => {
  expect((await as('evil', 'GET', '/v1/snapshots')).body.items).toEqual([]);
  expect((await as('evil', 'GET', `/v1/snapshots?sandbox=${sandbox}`)).body.items).toEqual([]);
  expect((await as('elsewhere', 'GET', `/v1/snapshots?sandbox=${sandbox}`)).body.items).toEqual([]);
  expect((await as('elsewhere', 'GET', `/v1/snapshots?project=web`)).status).toBeGreaterThanOrEqual(400);
  const { body: own } = await as('evil', 'POST', '/v1/sandboxes', { spec });
  const stolen = await as('evil', 'POST', `/v1/sandboxes/${own.id}/rollback`, { snapshot });
  expect({ status: stolen.status, code: stolen.body.code }).toEqual({ status: 404, code: 'snapshot_not_found' });
  expect((await as('evil', 'DELETE', `/v1/sandboxes/${own.id}`)).status).toBe(200);
});

describe('bounds', () => {
  const create = (body: unknown) => as('use', 'POST', `/v1/sandboxes/${sandbox}/snapshots`, body);
  const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`l${n}`, 'x']));

  test.each([
    [{ name: '' }],
    [{ name: 'turn-0001' }],
    [{ name: 'turn-99999999999' }],
    [{ name: newId('snapshot') }],
    [{ name: 'a/b' }],
    [{ name: '../x' }],
    [{ name: 'x'.repeat(10_000) }],
    [{ name: 7 }],
    [{ labels: labels(1_000) }],
    [{ labels: { a: 'x'.repeat(100_000) } }],
    [{ kind: 'turn' }],
    [[]],
  ])('a snapshot of %j is refused', async (body) => {
    const { status, body: problem } = await create(body);
    expect([400, 413, 422]).toContain(status);
    expect(problem.code).toBe('request_invalid');
  });

  test.each([0, -1, 101, 1.5, '2', 1e9])('a fork of %j is refused', async (count) => {
    const { status } = await as('use', 'POST', `/v1/sandboxes/${sandbox}/fork`, { count });
    expect([400, 422]).toContain(status);
  });

  test.each(['after=x', 'limit=0', 'limit=100000', 'kind=fork', 'sandbox=x', 'usage=maybe', 'other=1'])(
    'a list with %s is refused',
    async (query) => {
      expect([400, 422]).toContain((await as('use', 'GET', `/v1/snapshots?${query}`)).status);
    },
  );

  test('what is not there is told so', async () => {
    const back = (ref: string) => as('use', 'POST', `/v1/sandboxes/${sandbox}/rollback`, { snapshot: ref });
    for (const ref of ['none', 'turn-0099', newId('snapshot')]) {
      expect((await back(ref)).body).toMatchObject({ code: 'snapshot_not_found', status: 404 });
    }
    expect((await back('../x')).status).toBeGreaterThanOrEqual(400);
    expect(
      (await as('use', 'PATCH', `/v1/snapshots/${snapshot}`, { name: 'turn-0007' })).status,
    ).toBeGreaterThanOrEqual(400);
    expect((await create({ name: 'first' })).body).toMatchObject({ code: 'snapshot_exists' });
  });

  test('a sandbox of another kind cannot be put back to it', async () => {
    const other = { ...spec, runtime: { ...spec.runtime, env: { A: '1' } } };
    const { body: made } = await as('use', 'POST', '/v1/sandboxes', { spec: other });
    const { body } = await as('use', 'POST', `/v1/sandboxes/${made.id}/rollback`, { snapshot });
    expect(body).toMatchObject({ code: 'request_invalid', hint: expect.stringContaining('caisson restore') });
    await as('use', 'DELETE', `/v1/sandboxes/${made.id}`);
  });

  test('nor can one whose files another driver keeps, which goes on', async () => {
    const { body: made } = await as('use', 'POST', '/v1/sandboxes', { spec });
    const back = () => as('use', 'POST', `/v1/sandboxes/${made.id}/rollback`, { snapshot });
    const keptBy = (from: string, to: string) => {
      const database = new DatabaseSync(`${world.folder}/caisson.db`);
      database.exec('PRAGMA busy_timeout = 60000');
      const change = 'UPDATE snapshots SET inputs = replace(inputs, ?, ?) WHERE id = ?';
      database.prepare(change).run(`"driver":"${from}"`, `"driver":"${to}"`, snapshot);
      database.close();
    };
    keptBy('oci', 'docker');
    try {
      expect((await back()).body).toMatchObject({ code: 'request_invalid', hint: expect.stringContaining('restore') });
    } finally {
      keptBy('docker', 'oci');
    }
    expect((await as('use', 'GET', `/v1/sandboxes/${made.id}`)).body.state).toBe('ready');
    expect((await back()).body).toMatchObject({ state: 'ready', head: snapshot });
    await as('use', 'DELETE', `/v1/sandboxes/${made.id}`);
  });
});

describe('asked twice with one key', () => {
  const twice = async (path: string, body: unknown, status = 201) => {
    const key = { 'idempotency-key': newId('request') };
    const first = await as('use', 'POST', path, body, key);
    expect(first.status, JSON.stringify(first.body)).toBe(status);
    const second = await as('use', 'POST', path, body, key);
    expect(second).toMatchObject({ status, body: { id: first.body.id } });
    const reused = await as('use', 'POST', path, { ...(body as object), labels: { other: '1' } }, key);
    if (status === 201) expect(reused.body.code).toBe('idempotency_key_reused');
    return first.body;
  };
  const count = async () => (await as('use', 'GET', '/v1/snapshots?limit=200')).body.items.length;

  test('a snapshot is made once, and a turn ends once', async () => {
    const before = await count();
    await twice(`/v1/sandboxes/${sandbox}/snapshots`, { name: 'once' });
    const { turn } = await twice(`/v1/sandboxes/${sandbox}/turn-complete`, {});
    expect(await count()).toBe(before + 2);
    expect((await as('use', 'GET', `/v1/sandboxes/${sandbox}`)).body.turn).toBe(turn);
  });

  test('a rollback is done once', async () => {
    const key = { 'idempotency-key': newId('request') };
    const path = `/v1/sandboxes/${sandbox}/rollback`;
    expect((await as('use', 'POST', path, { snapshot: 'first' }, key)).status).toBe(200);
    const { body: changed } = await as('use', 'POST', `/v1/sandboxes/${sandbox}/exec`, {
      command: 'echo later > /tmp/later',
    });
    expect(changed.exitCode).toBe(0);
    expect((await as('use', 'POST', path, { snapshot: 'first' }, key)).status).toBe(200);
    const { body } = await as('use', 'POST', `/v1/sandboxes/${sandbox}/exec`, { command: 'cat /tmp/later' });
    expect(body.stdout).toBe('later\n');
  });

  test('a restore makes one sandbox', async () => {
    const made = await twice(`/v1/snapshots/${snapshot}/restore`, {});
    await as('use', 'DELETE', `/v1/sandboxes/${made.id}`);
  });
});

test('snapshots are listed page by page, newest first, by kind and by name', async () => {
  for (let n = 0; n < 4; n += 1) await as('use', 'POST', `/v1/sandboxes/${sandbox}/snapshots`, { name: `p${n}` });
  const ids: string[] = [];
  for (let after = ''; ; ) {
    const { body } = await as('bob', 'GET', `/v1/snapshots?sandbox=${sandbox}&limit=2${after && `&after=${after}`}`);
    ids.push(...body.items.map(({ id }: { id: string }) => id));
    if (body.next === null) break;
    expect(body.items).toHaveLength(2);
    after = body.next;
  }
  expect(ids).toEqual([...new Set(ids)].sort().reverse());
  expect(ids).toContain(snapshot);
  const only = async (query: string) => (await as('use', 'GET', `/v1/snapshots?${query}`)).body.items;
  expect(await only('name=p2')).toMatchObject([{ name: 'p2' }]);
  expect((await only('kind=turn')).every(({ kind }: { kind: string }) => kind === 'turn')).toBe(true);
  expect(await only(`sandbox=${newId('sandbox')}`)).toEqual([]);
});
