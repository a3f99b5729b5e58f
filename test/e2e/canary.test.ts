import { existsSync } from 'node:fs';
import { Caisson } from '@caisson/sdk';
import { afterEach, describe, expect, test } from 'vitest';
import type { Capabilities } from '../../packages/server/src/drivers/driver.ts';
import { GuestDriver } from './guest-driver.ts';
import { type TestServer, testServer } from './server.ts';

const isRoot = process.getuid?.() === 0;
let server: TestServer | undefined;
let driver: GuestDriver | undefined;
afterEach(async () => {
  await server?.close();
  await driver?.stopAll();
  server = undefined;
  driver = undefined;
});
const open = async (options: Parameters<typeof testServer>[0]) => {
  server = await testServer(options);
  return new Caisson({ baseUrl: server.url });
};
const checksOf = async (caisson: Caisson, id: string) => {
  for await (const event of caisson.sandboxes.events(id, { follow: false }))
    if (event.type === 'caisson.sandbox.checked') return event.data;
  return undefined;
};

/** It claims to isolate, and does not: its guest has the network of this machine. */
class Liar extends GuestDriver {
  override readonly capabilities: Capabilities = { ...new GuestDriver().capabilities, isolation: 'namespaces' };
}

const spec = { source: { kind: 'none' }, os: 'host', runtime: { network: { mode: 'off' } } };

describe.skipIf(!isRoot)('a canary on a real runtime', () => {
  test('looks at itself and tells what it found, with timings, before it is ready', async () => {
    const caisson = await open({ drivers: ['oci'] });
    const sandbox = await caisson.sandboxes.create({ profile: 'sandbox-canary', spec });
    try {
      expect(sandbox.state).toBe('ready');
      const found = await checksOf(caisson, sandbox.id);
      expect(found).toMatchObject({ ok: true, launchMs: expect.any(Number) });
      expect(((found?.checks ?? []) as { name: string; ok: boolean }[]).map(({ name, ok }) => [name, ok])).toEqual([
        ['guest', true],
        ['workspace', true],
        ['disk', true],
        ['network', true],
        ['clock', true],
      ]);
      expect((await sandbox.exec('ls -A /workspace')).stdout).toBe('');
      const route = await sandbox.route();
      expect(route).toMatchObject({ chosen: { driver: 'oci' }, driver: 'oci', candidates: [{ rank: 1 }] });
    } finally {
      await sandbox.destroy();
    }
  }, 120_000);

  test('a sandbox of another profile does not', async () => {
    const caisson = await open({ drivers: ['oci'] });
    const sandbox = await caisson.sandboxes.create({ profile: 'blank', spec });
    try {
      expect(await checksOf(caisson, sandbox.id)).toBeUndefined();
    } finally {
      await sandbox.destroy();
    }
  }, 120_000);
});

describe.skipIf(!isRoot)('a canary that is made ahead', () => {
  test('is one that looked at itself when it was made, not a neighbour that did not', async () => {
    driver = new GuestDriver();
    const caisson = await open({ drivers: [driver] });
    const isFull = async () => (await caisson.pools.list()).every(({ ready }) => ready === 1);
    const takenFrom = async () =>
      (await caisson.pools.list()).filter(({ taken }) => taken > 0).map((pool) => pool.profile);
    await caisson.pools.set('blank', { min: 1, max: 1 });
    await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
    const cold = await caisson.sandboxes.create();
    expect(await takenFrom()).toEqual([]);
    expect(await checksOf(caisson, cold.id)).toMatchObject({ ok: true });
    await caisson.pools.set('sandbox-canary', { min: 1, max: 1 });
    await expect.poll(isFull, { timeout: 30_000 }).toBe(true);
    const warm = await caisson.sandboxes.create();
    expect(await takenFrom()).toEqual(['sandbox-canary@1']);
    expect(await checksOf(caisson, warm.id)).toMatchObject({ ok: true });
    await Promise.all([cold.destroy(), warm.destroy()]);
  });
});

const hasWays = existsSync('/proc/net/route');
describe.skipIf(!isRoot || !hasWays)('a canary on a driver that does not keep its word', () => {
  test('fails with the check that says so, and nothing of it is left', async () => {
    driver = new Liar();
    const caisson = await open({ drivers: [driver] });
    const failed = await caisson.sandboxes.create().catch((error) => error);
    expect(failed).toMatchObject({
      code: 'self_check_failed',
      message: expect.stringMatching(/network: open, and a way/),
    });
    const id = String(failed.context.sandbox);
    expect((await caisson.sandboxes.get(id)).record).toMatchObject({ state: 'failed' });
    expect(await checksOf(caisson, id)).toMatchObject({ ok: false });
    expect((await driver.list(new AbortController().signal)).instances).toEqual([]);
  });

  test('is made on the next backend where there is one', async () => {
    driver = new Liar();
    const caisson = await open({ drivers: [driver, new Honest()] });
    const sandbox = await caisson.sandboxes.create();
    expect(sandbox.record).toMatchObject({ state: 'ready', driver: 'honest' });
    expect((await sandbox.route()).failedTries).toMatchObject([{ driver: 'fake' }]);
    await sandbox.destroy();
  });
});

class Honest extends GuestDriver {
  constructor() {
    super({ name: 'honest' });
  }
}
