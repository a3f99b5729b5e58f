import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Caisson } from '@caisson/sdk';
import { afterEach, expect, test } from 'vitest';
import { FakeDriver } from '../../packages/server/src/drivers/fake/fake-driver.ts';
import { type TestServer, testServer } from './server.ts';

let server: TestServer;
afterEach(() => server.close());

const persistent = { source: { kind: 'none' }, runtime: { persistence: 'persistent', network: { mode: 'open' } } };

/** The same data folder and backend, and a database that knows nothing. */
async function loseDatabase(options: object): Promise<Caisson> {
  await server.server.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(server.folder, `caisson.db${suffix}`), { force: true });
  server = await testServer(options, server.folder);
  return new Caisson({ baseUrl: server.url });
}

test('an adopted sandbox reaches no more than at its launch; the repair is an event, a number and a line of the log', async () => {
  const options = { drivers: [new FakeDriver()] };
  server = await testServer(options);
  let caisson = new Caisson({ baseUrl: server.url });
  const narrowed = await caisson.sandboxes.create({ spec: persistent });
  await narrowed.network.set({ mode: 'allowlist' });
  await narrowed.network.allow('a.example');
  await narrowed.stop();
  await narrowed.start();
  const untouched = await caisson.sandboxes.create({ spec: persistent });

  caisson = await loseDatabase(options);
  const again = await caisson.sandboxes.get(narrowed.id);
  expect(again.record.state).toBe('ready');
  expect(again.record.notices).toContainEqual(expect.stringContaining('network rules'));
  expect(await again.network.get()).toMatchObject({ mode: 'allowlist', allow: ['a.example'] });
  const other = await caisson.sandboxes.get(untouched.id);
  expect(await other.network.get()).toMatchObject({ mode: 'open', revision: 0 });

  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain('caisson_repairs_total{kind="adopted",did="adopted"} 2');
  const kinds: unknown[] = [];
  for await (const { type, data } of caisson.events({ follow: false }))
    if (type === 'caisson.sandbox.repair') kinds.push(data.kind);
  expect(kinds).toEqual(['adopted', 'adopted']);
});
