import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, type TestServer, testServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.close());
const caisson = () => new Caisson({ baseUrl: server.url });

describe('profiles over the API', () => {
  const mine = { name: 'mine', version: 1, sourceRequired: false, lease: { ttlSeconds: 60 } };

  test('one is checked, added, used, and there after a restart', async () => {
    expect(await caisson().profiles.check(mine)).toMatchObject({ isNew: true, profile: { lineage: ['mine@1'] } });
    await expect(caisson().profiles.get('mine')).rejects.toMatchObject({ code: 'profile_not_found' });
    expect(await caisson().profiles.add(mine)).toMatchObject({ isNew: true });
    expect(await caisson().profiles.add(mine)).toMatchObject({ isNew: false });
    const sandbox = await caisson().sandboxes.create({ profile: 'mine' });
    expect(sandbox.record.expiresAt).not.toBeNull();
    server = await server.restart();
    expect(await caisson().profiles.get('mine@1')).toMatchObject({ lease: { ttlSeconds: 60 } });
  });

  test('a version with other content is refused with 409', async () => {
    const other = { ...mine, lease: { ttlSeconds: 61 } };
    expect(await call(server.url, 'POST', '/v1/profiles', { body: other })).toMatchObject({
      status: 409,
      body: { code: 'profile_exists' },
    });
  });

  test('YAML is taken as it is written', async () => {
    const body = 'name: written\nversion: 1\nextends:\n  name: mine\n';
    const headers = { 'content-type': 'application/yaml' };
    expect(await call(server.url, 'POST', '/v1/profiles', { body, headers })).toMatchObject({
      status: 201,
      body: { profile: { lineage: ['written@1', 'mine@1'] } },
    });
  });

  test('a new version with a warm pool has one at once', async () => {
    await caisson().profiles.add({ name: 'pooled', version: 1, sourceRequired: false, pool: { min: 1, max: 2 } });
    await expect
      .poll(async () => (await caisson().pools.list()).find((one) => one.profile === 'pooled@1')?.ready)
      .toBe(1);
    await caisson().profiles.add({ name: 'pooled', version: 2, sourceRequired: false, pool: { min: 2, max: 2 } });
    await expect
      .poll(async () => (await caisson().pools.list()).find((one) => one.profile === 'pooled@2')?.ready)
      .toBe(2);
    expect((await caisson().pools.list()).filter((one) => one.profile === 'pooled@1')).toEqual([]);
  });

  test('every fault has its path', async () => {
    const bad = { name: 'Bad', version: 0, lease: { ttlSeconds: -1 }, what: 1 };
    const { status, body } = await call(server.url, 'POST', '/v1/profiles/check', { body: bad });
    expect([status, body.code]).toEqual([422, 'profile_invalid']);
    expect(body.problems.map((one: { path: string }) => one.path).sort()).toEqual([
      'lease.ttlSeconds',
      'name',
      'version',
      'what',
    ]);
  });

  test('an unknown profile, version or input is told with what there is', async () => {
    const create = (body: object) => call(server.url, 'POST', '/v1/sandboxes', { body });
    expect(await create({ profile: 'nobody' })).toMatchObject({ status: 404, body: { code: 'profile_not_found' } });
    expect(await create({ profile: 'mine@9' })).toMatchObject({ body: { context: { known: ['mine@1'] } } });
    await caisson().profiles.add({
      name: 'needy',
      version: 1,
      inputs: { repo: { type: 'string', required: true } },
      spec: { repo: '${inputs.repo}' },
    });
    expect(await create({ profile: 'needy' })).toMatchObject({ status: 422, body: { code: 'input_missing' } });
  });
});
