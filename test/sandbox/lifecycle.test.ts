import { CaissonError, replay, type Sandbox } from '@caisson/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FakeStep } from '../../packages/server/src/drivers/fake/fake-driver.ts';
import { outcomes } from '../conformance/store-fixtures.ts';
import { ada, bob, boss, type ControlPlane, controlPlane, stranger } from './control-plane.ts';

let plane: ControlPlane;
beforeEach(async () => {
  plane = await controlPlane({ limits: { sandboxesPerTenant: 60 } });
});
afterEach(() => plane.close());

const wait = { waitSeconds: 10 };
const create = async (change: object = {}): Promise<Sandbox> =>
  (await plane.sandboxes.create(ada, { ...wait, ...change })).sandbox;
const states = async (sandbox: Sandbox) =>
  (await plane.store.events.list({ subject: sandbox.id, after: 0, limit: 100 })).map((event) =>
    event.type.split('.').at(-1),
  );
const instances = async () =>
  (await plane.driver.list(new AbortController().signal)).instances.map(
    ({ key }) => `${key.sandbox}.${key.incarnation}`,
  );

/** After whatever happened: the record is stable and its events replay to it. */
async function expectSettled(): Promise<void> {
  expect(await plane.store.sandboxes.unsettled(100)).toEqual([]);
  for (const sandbox of await plane.sandboxes.list(ada, { destroyedToo: true, limit: 100 })) {
    const events = await plane.store.events.list({ subject: sandbox.id, after: 0, limit: 500 });
    expect(replay(events)).toEqual({ state: sandbox.state, action: null });
  }
}

test('a create goes through its states, has an instance, and ends ready', async () => {
  const sandbox = await create();
  expect(sandbox).toMatchObject({
    state: 'ready',
    driver: 'fake',
    profile: { name: 'sandbox-canary' },
    notices: [expect.stringContaining('fake')],
  });
  expect(await states(sandbox)).toEqual(['requested', 'provisioning', 'ready']);
  expect(await instances()).toEqual([`${sandbox.id}.1`]);
  expect(await plane.sandboxes.attempts(ada, sandbox.id, 10)).toMatchObject([{ action: 'create', state: 'succeeded' }]);
});

test('stop, start, recreate and destroy lead where the table says', async () => {
  const { id } = await create();
  expect((await plane.sandboxes.stop(ada, id, 10)).sandbox.state).toBe('stopped');
  expect(await instances()).toEqual([]);
  expect((await plane.sandboxes.start(ada, id, 10)).sandbox.state).toBe('ready');
  const recreated = (await plane.sandboxes.recreate(ada, id, 10)).sandbox;
  expect(recreated).toMatchObject({ id, state: 'ready', incarnation: 2 });
  expect(await instances()).toEqual([`${id}.2`]);
  expect((await plane.sandboxes.destroy(ada, id, 10)).sandbox.state).toBe('destroyed');
  expect((await plane.sandboxes.destroy(ada, id, 10)).sandbox.state).toBe('destroyed');
  expect(await instances()).toEqual([]);
  await expect(plane.sandboxes.start(ada, id, 10)).rejects.toMatchObject({ code: 'sandbox_destroyed' });
  expect((await plane.sandboxes.attempts(ada, id, 10)).map(({ action }) => action)).toEqual([
    'recreate',
    'start',
    'create',
  ]);
  await expectSettled();
});

test('a paused sandbox stands still over a restart, refuses work, and goes on when it is resumed', async () => {
  const { id } = await create();
  expect((await plane.sandboxes.pause(ada, id, { waitSeconds: 10, drainSeconds: 0 })).sandbox.state).toBe('paused');
  await expect(plane.sandboxes.pause(ada, id, { waitSeconds: 10, drainSeconds: 0 })).rejects.toMatchObject({
    code: 'sandbox_paused',
  });
  plane = await plane.restart();
  await plane.settle();
  expect((await plane.sandboxes.get(ada, id)).state).toBe('paused');
  expect((await plane.sandboxes.resume(ada, id, 10)).sandbox.state).toBe('ready');
  await expect(plane.sandboxes.resume(ada, id, 10)).rejects.toMatchObject({ code: 'invalid_state' });
  await expectSettled();
});

test('a pause that fails leaves the sandbox ready, with the reason', async () => {
  const { id } = await create();
  plane.driver.faults.plan('pause.before', { kind: 'fail' });
  await expect(plane.sandboxes.pause(ada, id, { waitSeconds: 10, drainSeconds: 0 })).rejects.toMatchObject({
    code: 'driver_failed',
  });
  expect(await plane.sandboxes.get(ada, id)).toMatchObject({ state: 'ready', reason: { code: 'driver_failed' } });
  await expectSettled();
});

test('a start that fails keeps the filesystem of a persistent sandbox, and so does one that a shutdown interrupts', async () => {
  const { id } = await create({ profile: 'kept' });
  await plane.sandboxes.stop(ada, id, 10);
  for (const step of ['create.before', 'create.made', 'create.after'] as const) {
    plane.driver.faults.plan(step, { kind: 'fail' });
    await expect(plane.sandboxes.start(ada, id, 10)).rejects.toMatchObject({ code: 'driver_failed' });
    expect(plane.backend.find(`${id}.1`)).toMatchObject({ status: 'halted' });
  }
  plane.driver.faults.plan('create.before', { kind: 'hang' });
  const starting = plane.sandboxes.start(ada, id, 10).catch((error) => error);
  while (plane.runner.count === 0) await new Promise(setImmediate);
  plane.runner.stop(new CaissonError('shutting_down'));
  expect(await starting).toMatchObject({ code: 'shutting_down' });
  expect((await plane.sandboxes.get(ada, id)).state).toBe('starting');
  expect(plane.backend.find(`${id}.1`)).toMatchObject({ status: 'halted' });
});

test('a persistent sandbox is halted, not removed, when it stops', async () => {
  const { id } = await create({ profile: 'kept' });
  await plane.sandboxes.stop(ada, id, 10);
  expect(plane.backend.find(`${id}.1`)).toMatchObject({ status: 'halted' });
  expect((await plane.sandboxes.start(ada, id, 10)).sandbox.state).toBe('ready');
  await plane.sandboxes.stop(ada, id, 10);
  await plane.sandboxes.destroy(ada, id, 10);
  expect(plane.backend.find(`${id}.1`)).toBeUndefined();
});

describe('owners', () => {
  test('a stranger finds nothing, with the same words as for an id that does not exist', async () => {
    const { id } = await create();
    const unknown = id.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    for (const act of [
      (wanted: string) => plane.sandboxes.get(stranger, wanted),
      (wanted: string) => plane.sandboxes.stop(stranger, wanted, 1),
      (wanted: string) => plane.sandboxes.recreate(stranger, wanted, 1),
      (wanted: string) => plane.sandboxes.destroy(stranger, wanted, 1),
      (wanted: string) => plane.sandboxes.attempts(stranger, wanted, 1),
    ]) {
      const messages = await Promise.all(
        [id, unknown].map((wanted) => act(wanted).catch((error: Error) => error.message.replace(wanted, 'ID'))),
      );
      expect(messages[0]).toBe('there is no sandbox ID');
      expect(messages[1]).toBe(messages[0]);
    }
    expect(await plane.sandboxes.list(stranger, { destroyedToo: true, limit: 10 })).toEqual([]);
  });

  test('a member of the project sees a sandbox but may not change it; who manages may', async () => {
    const { id } = await create();
    expect((await plane.sandboxes.get(bob, id)).id).toBe(id);
    await expect(plane.sandboxes.destroy(bob, id, 1)).rejects.toMatchObject({ code: 'not_owner' });
    expect((await plane.sandboxes.destroy(boss, id, 10)).sandbox.state).toBe('destroyed');
  });

  test('a create in another project needs the right to manage', async () => {
    await expect(create({ project: 'ops' })).rejects.toMatchObject({ code: 'scope_missing' });
    const made = await plane.sandboxes.create(boss, { ...wait, project: 'web' });
    expect(made.sandbox.owner).toEqual({ tenant: 'acme', project: 'web', principal: 'boss' });
  });
});

describe('one per owner, names and ensure', () => {
  test('a second create of a one-per-owner profile is refused, for another owner it is not', async () => {
    await create({ profile: 'single' });
    await expect(create({ profile: 'single' })).rejects.toMatchObject({ code: 'sandbox_exists' });
    await plane.sandboxes.create(bob, { ...wait, profile: 'single' });
    await create({ profile: 'single', scope: 'night' });
  });

  test('fifty ensures at once make exactly one sandbox, and all get it', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => plane.sandboxes.ensure(ada, { ...wait, profile: 'single' })),
    );
    expect(new Set(answers.map(({ sandbox }) => sandbox.id)).size).toBe(1);
    for (const { sandbox } of answers) expect(sandbox.state).toBe('ready');
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(await instances()).toHaveLength(1);
    expect(await plane.store.tenants.liveSandboxes('acme')).toBe(1);
  });

  test('ensure mends: a failed one is recreated, a stopped one started, a lost one replaced', async () => {
    const { id } = (await plane.sandboxes.ensure(ada, { ...wait, name: 'dev' })).sandbox;
    await plane.sandboxes.stop(ada, id, 10);
    expect((await plane.sandboxes.ensure(ada, { ...wait, name: 'dev' })).sandbox).toMatchObject({
      id,
      state: 'ready',
      incarnation: 1,
    });
    plane.backend.remove({ sandbox: id, incarnation: 1 });
    expect((await plane.sandboxes.ensure(ada, { ...wait, name: 'dev' })).sandbox).toMatchObject({
      id,
      state: 'ready',
      incarnation: 2,
    });
    plane.backend.end({ sandbox: id, incarnation: 2 }, 'out_of_memory', 'killed');
    expect((await plane.sandboxes.ensure(ada, { ...wait, name: 'dev' })).sandbox).toMatchObject({
      id,
      state: 'ready',
      incarnation: 3,
    });
    expect(await instances()).toEqual([`${id}.3`]);
    await plane.sandboxes.destroy(ada, id, 10);
    expect((await plane.sandboxes.ensure(ada, { ...wait, name: 'dev' })).sandbox.id).not.toBe(id);
  });

  test('ensure believes a backend that does not answer', async () => {
    const { id } = (await plane.sandboxes.ensure(ada, { ...wait, name: 'dev' })).sandbox;
    plane.backend.away = true;
    expect((await plane.sandboxes.ensure(ada, { ...wait, name: 'dev' })).sandbox).toMatchObject({
      id,
      state: 'ready',
      incarnation: 1,
    });
  });

  test('ensure of a name that another profile has is refused', async () => {
    await create({ name: 'dev', profile: 'single' });
    await expect(plane.sandboxes.ensure(ada, { ...wait, name: 'dev' })).rejects.toMatchObject({
      code: 'sandbox_exists',
    });
  });
});

describe('a driver that misbehaves', () => {
  const launchSteps: FakeStep[] = ['create.before', 'create.made', 'create.after'];

  test.each(launchSteps)(
    'a create that fails at %s is answered with why, and leaves a failed record and nothing else',
    async (step) => {
      plane.driver.faults.plan(step, { kind: 'fail', message: 'no room' });
      const error = await create().catch((cause) => cause);
      expect(error).toMatchObject({
        code: 'driver_failed',
        message: 'no room',
        context: { sandbox: expect.stringMatching(/^sbx/) },
      });
      const sandbox = await plane.sandboxes.get(ada, error.context.sandbox);
      expect(sandbox).toMatchObject({ state: 'failed', reason: { code: 'driver_failed', message: 'no room' } });
      expect(await plane.sandboxes.attempts(ada, sandbox.id, 1)).toMatchObject([
        { state: 'failed', reason: { code: 'driver_failed' } },
      ]);
      expect(await instances()).toEqual([]);
      await expectSettled();
    },
  );

  test.each(['hang', 'wedge'] as const)('a create that %ss is given up after its deadline', async (kind) => {
    plane.driver.faults.plan('create.made', { kind });
    await expect(create()).rejects.toMatchObject({ code: 'driver_timeout' });
    expect(await plane.sandboxes.list(ada, { destroyedToo: true, limit: 10 })).toMatchObject([
      { state: 'failed', reason: { code: 'driver_timeout' } },
    ]);
    await plane.settle();
    expect(await instances()).toEqual([]);
  });

  test('a foreign error of a driver is told by its words, without its stack', async () => {
    plane.driver.create = async () => {
      throw new TypeError('x is not a function');
    };
    await expect(create()).rejects.toMatchObject({ code: 'driver_failed', message: 'x is not a function' });
  });

  test('a destroy that fails leaves a failed sandbox that can be destroyed again', async () => {
    const { id } = await create();
    plane.driver.faults.plan('destroy.before', { kind: 'fail' });
    await expect(plane.sandboxes.destroy(ada, id, 10)).rejects.toMatchObject({ code: 'driver_failed' });
    expect((await plane.sandboxes.get(ada, id)).state).toBe('failed');
    expect((await plane.sandboxes.destroy(ada, id, 10)).sandbox.state).toBe('destroyed');
  });

  test('a start that fails leaves a stopped sandbox with the reason', async () => {
    const { id } = await create();
    await plane.sandboxes.stop(ada, id, 10);
    plane.driver.faults.plan('create.before', { kind: 'fail', message: 'busy' });
    await expect(plane.sandboxes.start(ada, id, 10)).rejects.toMatchObject({ code: 'driver_failed' });
    expect(await plane.sandboxes.get(ada, id)).toMatchObject({ state: 'stopped', reason: { message: 'busy' } });
  });

  test('a driver without the blueprint is refused before anything is recorded', async () => {
    await expect(create({ spec: { source: { kind: 'none' }, ssh: true } })).rejects.toMatchObject({
      code: 'unsupported-access-mode',
    });
    await expect(
      create({ spec: { source: { kind: 'none' }, target: { runtime: { name: 'docker', mode: 'require' } } } }),
    ).rejects.toMatchObject({
      code: 'driver_not_found',
    });
    expect(await plane.sandboxes.list(ada, { destroyedToo: true, limit: 10 })).toEqual([]);
  });
});

describe('the policies of a profile', () => {
  test('a lease is never longer than the profile allows', async () => {
    const { createdAt, expiresAt } = await create({ profile: 'short', ttlSeconds: 31_536_000 });
    expect(Date.parse(expiresAt ?? '') - Date.parse(createdAt)).toBeLessThanOrEqual(60_100);
  });

  test('what is not honoured yet is said on the sandbox', async () => {
    const { notices } = await create({ profile: 'short' });
    expect(notices).toContain('`priceClass` of the profile is not honoured yet.');
    expect(notices).not.toContain('`lease.atExpiry` of the profile is not honoured yet.');
  });

  test('only the drivers of the profile are taken', async () => {
    await expect(create({ profile: 'elsewhere' })).rejects.toMatchObject({ code: 'no_route' });
  });
});

describe('several at once', () => {
  test('a destroy takes the place of a create that hangs, which is told', async () => {
    plane.driver.faults.plan('create.made', { kind: 'hang' });
    const creating = create().catch((error) => error);
    let sandbox: Sandbox | undefined;
    while (sandbox?.state !== 'provisioning')
      [sandbox] = await plane.sandboxes.list(ada, { destroyedToo: false, limit: 1 });
    const destroyed = await plane.sandboxes.destroy(ada, sandbox.id, 10);
    expect(destroyed.sandbox.state).toBe('destroyed');
    expect(await creating).toMatchObject({ code: 'action_cancelled' });
    expect(await instances()).toEqual([]);
    await expectSettled();
  });

  test('two stops at once: one stops it, the other is told', async () => {
    const { id } = await create();
    const counts = await outcomes([plane.sandboxes.stop(ada, id, 10), plane.sandboxes.stop(ada, id, 10)]);
    expect(counts.ok).toBe(1);
    await expectSettled();
  });

  test('ten destroys at once all succeed', async () => {
    const { id } = await create();
    expect(await outcomes(Array.from({ length: 10 }, () => plane.sandboxes.destroy(ada, id, 10)))).toEqual({ ok: 10 });
    expect(await plane.store.tenants.liveSandboxes('acme')).toBe(0);
  });

  test('the limit of a tenant holds against a hundred creates at once', async () => {
    expect(await outcomes(Array.from({ length: 100 }, () => create()))).toEqual({ ok: 60, max_sandboxes_reached: 40 });
    expect(await instances()).toHaveLength(60);
  });

  test('a create that is not waited for is answered at once and gets ready by itself', async () => {
    const { sandbox, settled } = await plane.sandboxes.create(ada, { waitSeconds: 0 });
    if (!settled) expect(sandbox.state).toBe('provisioning');
    await plane.runner.idle();
    expect((await plane.sandboxes.get(ada, sandbox.id)).state).toBe('ready');
  });
});

test('the spec of a request lies over its profile, with everything kept in the attempt', async () => {
  const { id } = await create({ profile: 'kept', spec: { env: { A: '1' } } });
  const [newest] = await plane.sandboxes.attempts(ada, id, 1);
  const attempt = await plane.sandboxes.attempt(ada, id, newest?.id ?? '');
  expect(attempt?.spec).toEqual({ env: { A: '1' } });
  expect(attempt?.resolvedSpec).toEqual({ runtime: { persistence: 'persistent' }, env: { A: '1' } });
  expect(attempt?.blueprint).toMatchObject({ runtime: { env: { A: '1' }, persistence: 'persistent' } });
  await expect(create({ profile: 'nope' })).rejects.toMatchObject({ code: 'profile_not_found' });
  await expect(create({ spec: { env: { A: '1' } } })).rejects.toMatchObject({ code: 'spec_invalid' });
});
