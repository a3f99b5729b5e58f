import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { expect, test } from 'vitest';
import type { CreateRequest, Driver } from '../../packages/server/src/drivers/driver.ts';
import { FakeBackend } from '../../packages/server/src/drivers/fake/fake-backend.ts';
import { FakeDriver, type FakeStep } from '../../packages/server/src/drivers/fake/fake-driver.ts';
import { type DriverUnderTest, describeDriver } from './describe-driver.ts';

const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' } });

async function fake(backend: FakeBackend, reopen: () => FakeBackend, close: () => void): Promise<DriverUnderTest> {
  const driver = new FakeDriver({ backend });
  return {
    driver,
    restart: async () => new FakeDriver({ backend: reopen() }),
    request: async (key, owner) => ({ key, owner, labels: {}, blueprint }),
    async hanging() {
      const hangs = new FakeDriver({ backend });
      hangs.faults.plan('create.made', { kind: 'hang' });
      return hangs;
    },
    removeBehindItsBack: async (key) => backend.remove(key),
    async makeOrphan() {
      const asked = request();
      await driver.create(asked, signal());
      return backend.forgetOwner(asked.key);
    },
    close: async () => close(),
  };
}

describeDriver('fake', async () => {
  const backend = new FakeBackend();
  return fake(
    backend,
    () => backend,
    () => {},
  );
});

describeDriver('fake in a folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-fake-'));
  return fake(
    new FakeBackend(folder),
    () => new FakeBackend(folder),
    () => rmSync(folder, { recursive: true }),
  );
});

const signal = () => new AbortController().signal;
const request = (): CreateRequest => ({
  key: { sandbox: newId('sandbox'), incarnation: 1 },
  owner: { tenant: 'acme', project: 'web', principal: 'ada' },
  labels: {},
  blueprint,
});

/** Every step of the fake, and the call that passes it. */
const calls: Record<FakeStep, (driver: Driver, asked: CreateRequest, signal: AbortSignal) => Promise<unknown>> = {
  'probe.before': (driver, _, signal) => driver.probe(signal),
  'create.before': (driver, asked, signal) => driver.create(asked, signal),
  'create.made': (driver, asked, signal) => driver.create(asked, signal),
  'create.after': (driver, asked, signal) => driver.create(asked, signal),
  'inspect.before': (driver, asked, signal) => driver.inspect(asked.key, signal),
  'destroy.before': (driver, asked, signal) => driver.destroy(asked.key, signal),
  'destroy.after': (driver, asked, signal) => driver.destroy(asked.key, signal),
  'list.before': (driver, _, signal) => driver.list(signal),
  'pause.before': (driver, asked, signal) => driver.pause?.(asked.key, signal) ?? Promise.reject(),
  'resume.before': (driver, asked, signal) => driver.resume?.(asked.key, signal) ?? Promise.reject(),
  'halt.before': (driver, asked, signal) => driver.halt?.(asked.key, signal) ?? Promise.reject(),
  'stats.before': (driver, asked, signal) => driver.stats?.(asked.key, signal) ?? Promise.reject(),
};
const steps = Object.keys(calls) as FakeStep[];

test.each(steps)('fails at %s when told to, once', async (step) => {
  const driver = new FakeDriver();
  const asked = request();
  if (!step.startsWith('create')) await driver.create(asked, signal());
  driver.faults.plan(step, { kind: 'fail', message: 'planned' });
  await expect(calls[step](driver, asked, signal())).rejects.toMatchObject({
    code: 'driver_failed',
    message: 'planned',
  });
  await calls[step](driver, asked, signal());
});

test.each(steps)('hangs at %s when told to, until it is aborted', async (step) => {
  const driver = new FakeDriver();
  const asked = request();
  if (!step.startsWith('create')) await driver.create(asked, signal());
  driver.faults.plan(step, { kind: 'hang' });
  const abort = new AbortController();
  const hanging = calls[step](driver, asked, abort.signal);
  expect(await Promise.race([hanging, Promise.resolve('still hanging')])).toBe('still hanging');
  abort.abort(new Error('enough'));
  await expect(hanging).rejects.toThrow('enough');
});

test.each(['create.before', 'create.made', 'create.after'] as const)(
  'a create that fails at %s leaves nothing',
  async (step) => {
    const driver = new FakeDriver();
    const asked = request();
    driver.faults.plan(step, { kind: 'fail' });
    await expect(driver.create(asked, signal())).rejects.toThrow();
    expect(await driver.inspect(asked.key, signal())).toEqual({ status: 'gone' });
  },
);

test.each(['create.after', 'inspect.before', 'pause.before'] as const)('vanishes at %s when told to', async (step) => {
  const driver = new FakeDriver();
  const asked = request();
  if (step !== 'create.after') await driver.create(asked, signal());
  driver.faults.plan(step, { kind: 'vanish' });
  await calls[step](driver, asked, signal()).catch(() => {});
  expect(await driver.inspect(asked.key, signal())).toEqual({ status: 'gone' });
});

test('a wedged step settles not even when it is aborted', async () => {
  const driver = new FakeDriver();
  driver.faults.plan('create.made', { kind: 'wedge' });
  const abort = new AbortController();
  const wedged = driver.create(request(), abort.signal);
  await new Promise(setImmediate);
  abort.abort();
  expect(await Promise.race([wedged, new Promise((resolve) => setTimeout(resolve, 20, 'wedged'))])).toBe('wedged');
});

test('a backend that is away is unknown, not gone', async () => {
  const driver = new FakeDriver();
  const asked = request();
  await driver.create(asked, signal());
  driver.backend.away = true;
  expect(await driver.inspect(asked.key, signal())).toMatchObject({ status: 'unknown' });
  expect(await driver.probe(signal())).toMatchObject({ usable: false });
  await expect(driver.destroy(asked.key, signal())).rejects.toMatchObject({ code: 'driver_failed' });
  driver.backend.away = false;
  expect(await driver.inspect(asked.key, signal())).toEqual({ status: 'running' });
});

test('an instance that ended says why', async () => {
  const driver = new FakeDriver();
  const asked = request();
  await driver.create(asked, signal());
  driver.backend.end(asked.key, 'out_of_memory', 'killed at 512 MiB');
  expect(await driver.inspect(asked.key, signal())).toEqual({
    status: 'ended',
    reason: 'out_of_memory',
    message: 'killed at 512 MiB',
  });
});
