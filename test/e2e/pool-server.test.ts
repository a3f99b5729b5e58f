import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { readInstances } from '../../packages/server/src/drivers/fake/fake-backend.ts';
import { openStore } from '../../packages/server/src/store/store.ts';
import { call, type TestServer, testServer } from './server.ts';

const pool = { min: 5, max: 5 };
let server: TestServer | undefined;
afterEach(() => server?.close());

async function pooledServer(destroyOnExit = false): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-pool-'));
  mkdirSync(join(folder, 'profiles'));
  const profile = { name: 'warm', version: 1, sourceRequired: false, pool };
  writeFileSync(join(folder, 'profiles', 'warm.json'), JSON.stringify(profile));
  const made = await testServer({ destroyOnExit }, folder);
  await expect.poll(async () => (await call(made.url, 'GET', '/v1/pools')).body.items[0].ready).toBe(5);
  return made;
}

/** What there is when no server runs: records by owner, and instances on the backend. */
async function leftIn(folder: string) {
  const store = await openStore({ sqlite: join(folder, 'caisson.db') });
  try {
    const filter = { tenant: 'local', project: 'default', destroyedToo: false, limit: 1000 };
    const [members, owned] = [await store.pools.members(), await store.sandboxes.list(filter)];
    return { members, owned, instances: [...readInstances(join(folder, 'fake')).keys()] };
  } finally {
    await store.close();
  }
}

test('claims during a shutdown end: each member is its pool’s or its owner’s, and every answer is true', async () => {
  server = await pooledServer();
  const { url, folder } = server;
  const creates = Array.from({ length: 20 }, (_, n) =>
    call(url, 'POST', '/v1/sandboxes', { body: { profile: 'warm', name: `n${n}` } }).catch(() => undefined),
  );
  await Promise.race(creates);
  await server.server.close();
  const answers = (await Promise.all(creates)).filter((answer) => answer?.status === 201);
  const { members, owned, instances } = await leftIn(folder);
  for (const answer of answers) {
    const record = owned.find(({ id }) => id === answer?.body.id);
    expect(record).toMatchObject({ name: answer?.body.name, state: 'ready' });
  }
  const ids = [...members.map(({ sandbox }) => sandbox.id), ...owned.map(({ id }) => id)];
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(instances.map((name) => name.split('.')[0])).size).toBe(instances.length);
  for (const { pool: of } of members) expect(of).toMatch(/^warm@1 fake blueprint-sha256:/);
  server = await testServer({}, folder);
  const again = server.url;
  await expect
    .poll(async () => (await call(again, 'GET', '/v1/pools')).body.items[0], { timeout: 30_000 })
    .toMatchObject({
      ready: 5,
      making: 0,
    });
});

test('a server that ends its sandboxes ends the members of its pools', async () => {
  server = await pooledServer(true);
  await server.server.close();
  expect(await leftIn(server.folder)).toEqual({ members: [], owned: [], instances: [] });
});

test('also those that it is just making', async () => {
  for (let round = 0; round < 5; round += 1) {
    server = await pooledServer(true);
    const { url } = server;
    await Promise.all([1, 2, 3].map(() => call(url, 'POST', '/v1/sandboxes', { body: { profile: 'warm' } })));
    await new Promise((resolve) => setTimeout(resolve, 28 + round * 2));
    await server.server.close();
    expect(await leftIn(server.folder)).toEqual({ members: [], owned: [], instances: [] });
    if (round < 4) await server.close();
  }
});

test('a member is paused for its idleness when it has an owner who wants that, and not before', async () => {
  server = await pooledServer();
  const { url } = server;
  const { body } = await call(url, 'POST', '/v1/sandboxes', { body: { profile: 'warm', autoPauseSeconds: 1 } });
  const state = async () => (await call(url, 'GET', `/v1/sandboxes/${body.id}`)).body.state;
  expect(body.state).toBe('ready');
  await expect.poll(state, { timeout: 30_000 }).toBe('paused');
  expect((await call(url, 'GET', '/v1/pools')).body.items[0]).toMatchObject({ taken: 1, ready: 5 });
});

test('members are counted apart', async () => {
  server = await pooledServer();
  await call(server.url, 'POST', '/v1/sandboxes', { body: { profile: 'warm' } });
  const { body } = await call(server.url, 'GET', '/metrics');
  expect(body).toContain('caisson_sandboxes{state="ready"} 1');
  expect(body).toMatch(/caisson_pool_members\{profile="warm@1",state="ready"\} [45]/);
  expect(body).toContain('caisson_pool_creates{profile="warm@1",result="taken"} 1');
});
