import { newId } from '@caisson/contract';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeDriver } from '../../packages/server/src/drivers/fake/fake-driver.ts';
import { type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

const driver = new FakeDriver();
const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
let server: TestServer;
let key = '';
beforeAll(async () => {
  // Nothing but what is asked for here shall end what is stale.
  server = await testServer({ drivers: [driver], reconcileSeconds: 3_600, limits: { sandboxesPerHost: 50 } });
  const { body } = await request(`${server.folder}/server.sock`, 'POST', '/v1/keys', {
    name: 'admin',
    ...owner,
    scope: 'admin',
  });
  key = String(body.secret);
});
afterAll(() => server.close());
const caisson = () => new Caisson({ baseUrl: server.url, apiKey: key });

describe('the host', () => {
  test('tells its load, memory, disk, sandboxes and drivers', async () => {
    await caisson().sandboxes.create();
    const report = await caisson().hosts.inspect();
    expect(report).toMatchObject({
      version: '0.0.0-test',
      sandboxes: { live: 1, max: 50, byState: { ready: 1 } },
      lacks: [],
      storage: null,
      drivers: [{ name: 'fake', usable: true, trust: 'closed', latencyMs: expect.any(Number) }],
    });
    expect(report.memory.availableBytes).toBeLessThanOrEqual(report.memory.totalBytes);
    expect(report.disk.freeBytes).toBeGreaterThan(0);
  });

  test('tells a machine what the installation can do', async () => {
    const found = await caisson().capabilities();
    expect(found).toMatchObject({
      api: 'v1',
      drivers: [{ name: 'fake', usable: true, capabilities: { pause: 'freeze' } }],
      networkModes: ['off', 'allowlist', 'open'],
      limits: { sandboxesPerHost: 50, sandboxesPerTenant: null },
    });
    expect(found.profiles).toContain('sandbox-canary@1');
  });
});

describe('what is stale', () => {
  const stranger = { sandbox: newId('sandbox'), incarnation: 1 };
  const kinds = (items: readonly { kind: string; name: string }[], name: string) =>
    items.filter((item) => item.name.startsWith(name)).map(({ kind }) => kind);

  test('is found, told, and ended only when that is asked for', async () => {
    const never = new AbortController().signal;
    const { id } = await caisson().sandboxes.create();
    driver.backend.remove({ sandbox: id, incarnation: 1 });
    await driver.create({ key: stranger, owner, labels: {}, blueprint: {} as never }, never);

    const found = await caisson().hosts.stale();
    expect(kinds(found.items, id)).toEqual(['zombie-record']);
    expect(kinds(found.items, stranger.sandbox)).toEqual(['orphan-instance']);

    const told = await caisson().hosts.reap();
    expect(told).toMatchObject({ applied: false });
    expect(told.items.every(({ reaped }) => !reaped)).toBe(true);
    expect((await driver.inspect(stranger, never)).status).toBe('running');

    const done = await caisson().hosts.reap({ apply: true });
    expect(done.items.filter(({ name }) => name === id)).toMatchObject([{ reaped: true }]);
    expect((await caisson().sandboxes.get(id)).state).toBe('failed');
    // A tenant cannot take the grace time from what may be somebody else's.
    expect(done.items.filter(({ name }) => name.startsWith(stranger.sandbox))).toMatchObject([{ reaped: false }]);
    expect((await driver.inspect(stranger, never)).status).toBe('running');
    const waiting = (await caisson().hosts.stale()).items.filter(({ name }) => name.startsWith(stranger.sandbox));
    expect(waiting).toMatchObject([{ detail: expect.stringMatching(/no record of it; it is ended in \d+ s/) }]);

    const { body } = await request(`${server.folder}/server.sock`, 'POST', '/v1/host/reap', { apply: true });
    expect(body.items).toMatchObject([{ name: `${stranger.sandbox}.1`, reaped: true }]);
    expect((await driver.inspect(stranger, never)).status).toBe('gone');
    expect((await caisson().hosts.stale()).items).toEqual([]);
  });

  test('an age of less than a minute is a mistake, and refused', async () => {
    await expect(caisson().hosts.reap({ apply: true, agedSeconds: 1 })).rejects.toMatchObject({
      code: 'request_invalid',
    });
    await expect(caisson().hosts.stale({ agedSeconds: 0 })).rejects.toMatchObject({ code: 'request_invalid' });
  });

  test('a backend that does not answer is told as unseen, and nothing of it is stale', async () => {
    const { id } = await caisson().sandboxes.create();
    driver.backend.away = true;
    try {
      const found = await caisson().hosts.stale();
      expect(found.unseen).toMatchObject([{ driver: 'fake' }]);
      expect(kinds(found.items, id)).toEqual([]);
    } finally {
      driver.backend.away = false;
    }
  });
});
