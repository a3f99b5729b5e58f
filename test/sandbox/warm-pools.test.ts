import { type CreateSandbox, type Profile, replay, type Sandbox } from '@caisson/contract';
import { afterEach, describe, expect, test } from 'vitest';
import { ada, bob, boss, type ControlPlane, controlPlane, type PlaneOptions, stranger } from './control-plane.ts';

const warm: Profile = { name: 'warm', version: 1, sourceRequired: false, pool: { min: 2, max: 4 } };
const spec = { source: { kind: 'none' } };

let plane: ControlPlane;
afterEach(() => plane.close());

async function open(options: PlaneOptions = {}): Promise<void> {
  plane = await controlPlane({ profiles: [warm], ...options });
  await plane.pools.open();
}

const create = async (change: Partial<CreateSandbox> = {}, caller = ada): Promise<Sandbox> =>
  (await plane.sandboxes.create(caller, { profile: 'warm', ...change, waitSeconds: 5 })).sandbox;
const poolOf = (name: string) => plane.pools.show().find(({ profile }) => profile.startsWith(`${name}@`));
const running = () => [...plane.backend.all()].map(([name]) => name.split('.')[0] ?? '').sort();
const isFull = (size = 2) =>
  expect.poll(() => poolOf('warm'), { interval: 5 }).toMatchObject({ ready: size, making: 0 });
const membersNow = async () => (await plane.store.pools.members()).map(({ sandbox }) => sandbox.id).sort();

describe('a warm pool', () => {
  test('is filled to its minimum, with sandboxes that nobody sees', async () => {
    await open();
    await isFull();
    expect(running()).toHaveLength(2);
    for (const caller of [ada, boss, stranger])
      expect(await plane.sandboxes.list(caller, { destroyedToo: true, limit: 10 })).toEqual([]);
    const [id = ''] = await membersNow();
    await expect(plane.sandboxes.get(boss, id)).rejects.toMatchObject({ code: 'sandbox_not_found' });
    expect(await plane.store.sandboxes.countByState()).toEqual({});
    expect(await plane.store.events.list({ tenant: 'acme', after: 0, limit: 10 })).toEqual([]);
  });

  test('gives a member to whoever creates the same, and makes another', async () => {
    await open();
    await isFull();
    const before = running();
    const made = await plane.sandboxes.create(ada, { profile: 'warm', name: 'x', labels: { a: 'b' }, waitSeconds: 5 });
    expect(made).toMatchObject({ created: true, settled: true });
    expect(before).toContain(made.sandbox.id);
    expect(made.sandbox).toMatchObject({ owner: ada.owner, name: 'x', labels: { a: 'b' }, state: 'ready' });
    expect(made.sandbox.profile).toEqual({ name: 'warm', version: 1 });
    await isFull();
    expect(running()).toHaveLength(3);
    expect(poolOf('warm')).toMatchObject({ taken: 1, misses: 0 });
    const events = await plane.store.events.list({ tenant: 'acme', after: 0, limit: 10 });
    expect(replay(events)).toEqual({ state: 'ready', action: null });
  });

  test('serves the same blueprint by other words, and no other', async () => {
    await open();
    await isFull();
    const before = await membersNow();
    const same = await create({ profile: undefined, spec });
    expect(before).toContain(same.id);
    expect(same.profile).toBeNull();
    expect((await plane.sandboxes.attempt(ada, same.id, same.attempt ?? '')).spec).toEqual(spec);
    const other = await create({ profile: undefined, spec: { ...spec, env: { A: 'b' } } });
    expect(before).not.toContain(other.id);
  });

  test('twenty at once get twenty sandboxes, none of them twice', async () => {
    await open();
    await isFull();
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => create({}, n % 2 === 0 ? ada : bob)));
    expect(new Set(all.map(({ id }) => id)).size).toBe(20);
    expect(poolOf('warm')).toMatchObject({ taken: 2, misses: 18 });
    await isFull(4);
    for (const { id, owner } of all) expect((await plane.store.sandboxes.get(id))?.owner).toEqual(owner);
  });

  test('hands out nobody who died, and replaces them', async () => {
    await open();
    await isFull();
    const dead = await membersNow();
    for (const sandbox of dead) plane.backend.remove({ sandbox, incarnation: 1 } as never);
    const { id } = await create();
    expect(dead).not.toContain(id);
    await plane.reconciler.pass();
    await isFull();
    const states = async () => Promise.all(dead.map(async (one) => (await plane.store.sandboxes.get(one))?.state));
    await expect.poll(states).toEqual(['destroyed', 'destroyed']);
  });

  test('keeps a member whose claim fails', async () => {
    await open();
    await isFull();
    await create({ name: 'mine' });
    await isFull();
    const before = await membersNow();
    await expect(create({ name: 'mine' })).rejects.toMatchObject({ code: 'sandbox_exists' });
    expect(await membersNow()).toEqual(before);
    expect(poolOf('warm')).toMatchObject({ ready: 2 });
  });

  test('counts for whoever claims from it', async () => {
    await open({ limits: { sandboxesPerTenant: 1 } });
    await isFull();
    await create();
    await expect(create()).rejects.toMatchObject({ code: 'max_sandboxes_reached' });
    expect(await plane.store.tenants.liveSandboxes('acme')).toBe(1);
  });

  test('gives way on a host that is full', async () => {
    await open({ limits: { sandboxesPerHost: 2 } });
    await isFull();
    const other = await create({ profile: 'blank', spec: { env: { A: 'b' } } });
    expect(other.state).toBe('ready');
    expect((await plane.store.hosts.list())[0]?.liveSandboxes).toBe(2);
    await create();
    await expect(create()).rejects.toMatchObject({ code: 'max_sandboxes_reached' });
  });
});

describe('the size of a pool', () => {
  test('grows with what is asked for, up to its maximum', async () => {
    await open();
    await plane.pools.set('warm', { min: 0, max: 3 });
    await create();
    await isFull(1);
    for (let n = 0; n < 5; n += 1) await create();
    await isFull(3);
  });

  test('shrinks when its bounds do, and none is left of none', async () => {
    await open();
    await isFull();
    await plane.pools.set('warm', { min: 0, max: 0 });
    await expect.poll(running).toEqual([]);
    await create();
    expect(poolOf('warm')).toMatchObject({ ready: 0, wanted: 0, misses: 0 });
    expect(await plane.store.pools.members()).toEqual([]);
  });

  test('is kept when it was set, and otherwise the profile says it', async () => {
    await open();
    expect(poolOf('warm')).toMatchObject({ min: 2, max: 4, isSet: false });
    await plane.pools.set('warm', { min: 1, max: 1 });
    await plane.pools.set('blank', { min: 0, max: 1 });
    plane = await plane.restart();
    await plane.pools.open();
    expect(poolOf('warm')).toMatchObject({ min: 1, max: 1, isSet: true });
    expect(poolOf('blank')).toMatchObject({ min: 0, max: 1, isSet: true });
    await expect(plane.pools.set('nothing', { min: 0, max: 1 })).rejects.toMatchObject({ code: 'profile_not_found' });
  });

  test('a profile that needs an input has no pool, and the pool says why', async () => {
    const asking: Profile = { ...warm, name: 'asking', inputs: { repo: { type: 'string', required: true } } };
    await open({ profiles: [asking] });
    expect(poolOf('asking')).toMatchObject({ wanted: 0, problem: expect.stringContaining('repo') });
  });
});

describe('refilling', () => {
  test('waits while somebody waits for a sandbox', async () => {
    await open();
    await isFull();
    plane.driver.faults.plan('create.made', { kind: 'hang' });
    const waiting = create({ profile: 'blank', spec: { env: { A: 'b' } } }).catch((error) => error);
    await expect.poll(() => plane.runner.count).toBe(1);
    await create();
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(poolOf('warm')).toMatchObject({ ready: 1, making: 0 });
    await waiting;
    await isFull();
  });

  test('pauses after a failure, tells it, and leaves nothing behind', async () => {
    plane = await controlPlane({ profiles: [warm] });
    plane.driver.faults.plan('create.made', { kind: 'fail' });
    await plane.pools.open();
    await expect.poll(() => poolOf('warm')).toMatchObject({ ready: 0, making: 0, problem: expect.any(String) });
    await expect.poll(membersNow).toEqual([]);
    await expect.poll(() => poolOf('warm'), { timeout: 30_000 }).toMatchObject({ ready: 2, problem: null });
  });

  test('ends with the server, and claims do not', async () => {
    await open();
    await isFull();
    await plane.pools.stop();
    const before = await membersNow();
    expect(before).toContain((await create()).id);
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(await membersNow()).toHaveLength(1);
  });
});

describe('after a restart', () => {
  test('members go on in their pool', async () => {
    await open();
    await isFull();
    const before = await membersNow();
    plane = await plane.restart();
    await plane.pools.open();
    await plane.settle();
    expect(await membersNow()).toEqual(before);
    expect(before).toContain((await create()).id);
    await isFull();
    expect(running()).toHaveLength(3);
  });

  test('one that was being made is finished', async () => {
    plane = await controlPlane({ profiles: [warm] });
    plane.driver.faults.plan('create.made', { kind: 'wedge' });
    await plane.pools.open();
    await expect.poll(() => running()).toHaveLength(1);
    const [begun] = running();
    plane = await plane.restart();
    await plane.pools.open();
    await plane.settle();
    await isFull();
    expect(await membersNow()).toContain(begun);
    expect(running()).toHaveLength(2);
  });

  test('members of another version, and those that had left, are ended', async () => {
    await open();
    await isFull();
    const [old, left] = await membersNow();
    await plane.store.pools.leave(left as never);
    plane = await plane.restart([{ ...warm, version: 2 }]);
    await plane.pools.open();
    await plane.settle();
    await isFull();
    await expect.poll(running).toHaveLength(2);
    expect(running()).not.toContain(old);
    expect(running()).not.toContain(left);
    expect(await plane.store.pools.members()).toHaveLength(2);
  });
});
