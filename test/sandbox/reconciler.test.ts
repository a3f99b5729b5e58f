import type { Sandbox } from '@caisson/contract';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FakeStep } from '../../packages/server/src/drivers/fake/fake-driver.ts';
import { ada, type ControlPlane, controlPlane } from './control-plane.ts';

let plane: ControlPlane;
beforeEach(async () => {
  plane = await controlPlane();
});
afterEach(() => plane.close());

const never = () => new AbortController().signal;
const create = async (change: object = {}): Promise<Sandbox> =>
  (await plane.sandboxes.create(ada, { waitSeconds: 10, ...change })).sandbox;
const listed = async () =>
  (await plane.driver.list(never())).instances.map(({ key }) => `${key.sandbox}.${key.incarnation}`);

/** The server is killed while the driver is at this step: the old control plane stands still, a new one begins. */
async function killAt(step: FakeStep, act: () => Promise<unknown>): Promise<void> {
  const before = plane.driver.faults.met.length;
  plane.driver.faults.plan(step, { kind: 'wedge' });
  act().catch(() => {});
  while (!plane.driver.faults.met.slice(before).includes(step)) await new Promise(setImmediate);
  plane = await plane.restart();
}

test.each(['create.before', 'create.made', 'create.after'] as const)(
  'a create killed at %s is finished by the next server',
  async (step) => {
    await killAt(step, () => create({ name: 'x' }));
    await plane.settle();
    const [sandbox] = await plane.sandboxes.list(ada, { destroyedToo: true, limit: 5 });
    expect(sandbox).toMatchObject({ state: 'ready', name: 'x' });
    expect(await listed()).toEqual([`${sandbox?.id}.1`]);
  },
);

test('a create killed before it began is begun by the next server', async () => {
  const { newSandbox, newAttempt, noLimits } = await import('../conformance/store-fixtures.ts');
  const { owner } = ada;
  const attempt = { ...newAttempt(), blueprint: normalizeUserWorkspaceSpec({ source: { kind: 'none' } }) };
  const { sandbox } = await plane.store.sandboxes.create(newSandbox({ owner }), attempt, noLimits);
  await plane.settle();
  expect((await plane.sandboxes.get(ada, sandbox.id)).state).toBe('ready');
});

test.each(['destroy.before', 'destroy.after'] as const)(
  'a destroy killed at %s is finished by the next server',
  async (step) => {
    const { id } = await create();
    await killAt(step, () => plane.sandboxes.destroy(ada, id, 10));
    await plane.settle();
    expect((await plane.sandboxes.get(ada, id)).state).toBe('destroyed');
    expect(await listed()).toEqual([]);
    expect(await plane.store.tenants.liveSandboxes('acme')).toBe(0);
  },
);

test('a stop, a start and a recreate that were killed are finished by the next server', async () => {
  const { id } = await create();
  await killAt('destroy.before', () => plane.sandboxes.stop(ada, id, 10));
  await plane.settle();
  expect((await plane.sandboxes.get(ada, id)).state).toBe('stopped');
  await killAt('create.made', () => plane.sandboxes.start(ada, id, 10));
  await plane.settle();
  expect((await plane.sandboxes.get(ada, id)).state).toBe('ready');
  await killAt('create.made', () => plane.sandboxes.recreate(ada, id, 10));
  await plane.settle();
  expect(await plane.sandboxes.get(ada, id)).toMatchObject({ state: 'ready', incarnation: 2 });
  expect(await listed()).toEqual([`${id}.2`]);
});

test('an instance that vanished is recorded as lost, with the reason and a repair event', async () => {
  const { id } = await create();
  plane.backend.remove({ sandbox: id, incarnation: 1 });
  expect(await plane.reconciler.pass()).toMatchObject([{ sandbox: id, did: 'repaired' }]);
  expect(await plane.sandboxes.get(ada, id)).toMatchObject({ state: 'failed', reason: { code: 'instance_gone' } });
  const types = (await plane.store.events.list({ subject: id, after: 0, limit: 50 })).map(({ type }) => type);
  expect(types.slice(-2)).toEqual(['caisson.sandbox.failed', 'caisson.sandbox.repair']);
});

test('an instance that ended is recorded with what it ended of, and removed', async () => {
  const { id } = await create();
  plane.backend.end({ sandbox: id, incarnation: 1 }, 'out_of_memory', 'killed at 512 MiB');
  await plane.reconciler.pass();
  expect(await plane.sandboxes.get(ada, id)).toMatchObject({
    state: 'failed',
    reason: { code: 'out_of_memory', message: 'killed at 512 MiB' },
  });
  await plane.reconciler.pass();
  expect(await listed()).toEqual([]);
});

test('a backend that is away proves nothing: no record changes and nothing is reaped', async () => {
  const sandbox = await create();
  plane.backend.away = true;
  expect(await plane.reconciler.pass()).toEqual([]);
  plane.backend.away = false;
  expect(await plane.sandboxes.get(ada, sandbox.id)).toEqual(sandbox);
  plane.driver.faults.plan('list.before', { kind: 'wedge' });
  expect(await plane.reconciler.pass()).toEqual([]);
});

test('instances that no record wants are ended: unknown, of nobody, of an older incarnation', async () => {
  const sandbox = await create();
  const { id, owner } = sandbox;
  const blueprint = (await plane.sandboxes.attempt(ada, id, sandbox.attempt ?? '')).blueprint as never;
  const launch = (key: { sandbox: Sandbox['id']; incarnation: number }) =>
    plane.driver.create({ key, owner, labels: {}, blueprint }, never());
  await launch({ sandbox: 'sbx00000000000000000000', incarnation: 1 });
  await launch({ sandbox: id, incarnation: 7 });
  await launch({ sandbox: 'sbx11111111111111111111', incarnation: 1 });
  plane.backend.forgetOwner({ sandbox: 'sbx11111111111111111111', incarnation: 1 });
  expect((await plane.reconciler.pass()).map(({ did }) => did)).toEqual(['reaped', 'reaped', 'reaped']);
  expect(await listed()).toEqual([`${id}.1`]);
  expect((await plane.driver.list(never())).orphans).toEqual([]);
});

test('a sandbox that is stopped while a pass looks at it keeps its filesystem', async () => {
  const { id } = await create({ profile: 'kept' });
  const { list } = plane.driver;
  plane.driver.list = async (signal) => {
    const listing = await list.call(plane.driver, signal);
    await plane.sandboxes.stop(ada, id, 10);
    return listing;
  };
  await plane.reconciler.pass();
  expect((await plane.sandboxes.get(ada, id)).state).toBe('stopped');
  expect(plane.backend.find(`${id}.1`)).toMatchObject({ status: 'halted' });
});

test('a sandbox that is stopped and started while a pass looks at it goes on', async () => {
  const { id } = await create({ profile: 'kept' });
  const { inspect } = plane.driver;
  await plane.sandboxes.stop(ada, id, 10);
  await plane.sandboxes.start(ada, id, 10);
  // The backend hides it for a moment, as in the middle of a stop.
  plane.driver.list = async () => ({ instances: [], orphans: [] });
  let asked = false;
  plane.driver.inspect = async (key, signal) => {
    if (!asked) plane.sandboxes.stop(ada, id, 10).then(() => plane.sandboxes.start(ada, id, 10));
    asked = true;
    return inspect.call(plane.driver, key, signal);
  };
  expect(await plane.reconciler.pass()).toEqual([]);
  await plane.runner.idle();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await plane.sandboxes.get(ada, id)).toMatchObject({ state: 'ready', incarnation: 1 });
});

test('a pass over what is in order does nothing', async () => {
  const before = [await create(), await create({ name: 'b' })];
  const end = await plane.store.events.end();
  expect(await plane.reconciler.pass()).toEqual([]);
  expect(await plane.store.events.end()).toBe(end);
  for (const sandbox of before) expect(await plane.sandboxes.get(ada, sandbox.id)).toEqual(sandbox);
});
