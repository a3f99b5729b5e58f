import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson } from '@caisson/sdk';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeDriver } from '../../packages/server/src/drivers/fake/fake-driver.ts';
import { skip } from '../conformance/skips.ts';
import { type TestServer, testServer } from './server.ts';

let folder = '';
let server: TestServer | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-route-'));
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});
const open = async (options: Parameters<typeof testServer>[0] = {}) => {
  server = await testServer(options, folder);
  return new Caisson({ baseUrl: server.url });
};

test('a restart remembers how long launches took', async () => {
  const caisson = await open();
  expect((await caisson.sandboxes.explain()).candidates[0]?.latencyMs).toBeNull();
  await caisson.sandboxes.create();
  const [before] = (await caisson.sandboxes.explain()).candidates;
  server = await server?.restart();
  const [after] = (await new Caisson({ baseUrl: server?.url }).sandboxes.explain()).candidates;
  expect(after?.latencyMs).toBe(before?.latencyMs);
  expect(after?.latencyMs).not.toBeNull();
});

test('prices of the operator stand over those that ship', async () => {
  writeFileSync(join(folder, 'prices.yaml'), 'asOf: 2026-11-15\nentries: [{ driver: fake, perHour: 7 }]\n');
  const decision = await (await open()).sandboxes.explain();
  expect(decision).toMatchObject({ pricesAsOf: '2026-11-15', candidates: [{ pricePerHourMicros: 7 }] });
});

test.each([
  ['is no table', 'asOf: today\nentries: []\n'],
  ['is no YAML', 'asOf: [\n'],
  ['has a price below nothing', 'asOf: 2026-11-15\nentries: [{ driver: fake, perHour: -1 }]\n'],
])('a price table that %s stops the start', async (_, text) => {
  writeFileSync(join(folder, 'prices.yaml'), text);
  await expect(open()).rejects.toMatchObject({ code: 'request_invalid' });
});

test('a reference that begins with a dash is refused before anybody is asked', async () => {
  const caisson = await open();
  const spec = { source: { kind: 'none' }, os: { family: 'image', reference: '--rm' } };
  await expect(caisson.sandboxes.explain({ spec })).rejects.toMatchObject({ code: 'spec_invalid' });
});

describe('with a real runtime', () => {
  beforeEach((context) => {
    if (process.getuid?.() !== 0) skip(context, 'a real sandbox needs root');
  });

  test('a sandbox is made there when the backend before it fails', { timeout: 120_000 }, async () => {
    const broken = new FakeDriver({ name: 'broken' });
    broken.faults.plan('create.made', { kind: 'fail', message: 'no engine answers' });
    const caisson = await open({ drivers: [broken, 'oci'] });
    await caisson.profiles.add({
      name: 'either',
      version: 1,
      sourceRequired: false,
      spec: { os: 'host', runtime: { network: { mode: 'off' } } },
      route: { strategy: 'explicit', drivers: ['broken', 'oci'] },
    });
    const sandbox = await caisson.sandboxes.create({ profile: 'either' });
    try {
      expect(sandbox.record).toMatchObject({ state: 'ready', driver: 'oci' });
      expect((await sandbox.exec('echo here')).stdout).toBe('here\n');
      expect(await sandbox.route()).toMatchObject({
        chosen: { driver: 'broken' },
        driver: 'oci',
        failedTries: [{ driver: 'broken', reason: { message: 'no engine answers' } }],
      });
      expect((await broken.list(new AbortController().signal)).instances).toEqual([]);
      const nobody = { target: { os: 'host', runtime: { name: 'nobody', mode: 'require' } } };
      const refused = { code: 'driver_not_found' };
      await expect(caisson.sandboxes.create({ profile: 'either', spec: nobody })).rejects.toMatchObject(refused);
      const metrics = await (await fetch(`${server?.url}/metrics`)).text();
      const numbers = Object.fromEntries(
        [...metrics.matchAll(/^caisson_((?:route|backend)\w+)(\{.*\})? (\d+)$/gm)].map(
          ([, name, labels = '', value]) => [
            `${name} ${/driver="(\w+)"/.exec(labels)?.[1]} ${/(?:outcome|state)="([\w-]+)"/.exec(labels)?.[1]}`,
            Number(value),
          ],
        ),
      );
      expect(numbers).toMatchObject({
        'route_decisions broken chosen': 1,
        'route_decisions oci passed': 1,
        'route_failovers broken undefined': 1,
        'route_failovers oci undefined': 0,
        'backend_launches broken failed': 1,
        'backend_launches oci succeeded': 1,
        'backend_circuit oci closed': 1,
        'backend_circuit oci open': 0,
        'routes_unserved undefined undefined': 1,
      });
    } finally {
      await sandbox.destroy();
    }
  });

  test('nothing is left of a real sandbox when the next backend takes over', { timeout: 120_000 }, async () => {
    const second = new FakeDriver({ name: 'second' });
    const caisson = await open({ drivers: ['oci', second], deadlines: { launchMs: 1 } });
    await caisson.profiles.add({
      name: 'either',
      version: 1,
      sourceRequired: false,
      spec: { os: 'host', runtime: { network: { mode: 'off' } } },
      route: { strategy: 'explicit', drivers: ['oci', 'second'] },
    });
    const sandbox = await caisson.sandboxes.create({ profile: 'either' }).catch((error) => error);
    // A millisecond is too short for a runtime; whether it is for the fake is the machine's affair.
    const id = sandbox.id ?? sandbox.context.sandbox;
    const route = await caisson.sandboxes.route(id);
    expect(route.failedTries).toMatchObject([{ driver: 'oci', reason: { code: 'driver_timeout' } }]);
    expect((await caisson.hosts.stale()).items.filter(({ kind }) => kind !== 'zombie-record')).toEqual([]);
    await caisson.sandboxes.destroy(id);
  });
});
