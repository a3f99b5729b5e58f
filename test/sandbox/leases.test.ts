import { hasCode, type LeaseEnd, type Profile, type Sandbox } from '@caisson/contract';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ada, bob, boss, type ControlPlane, controlPlane, stranger } from './control-plane.ts';

const hour = 3_600;
const ends: readonly LeaseEnd[] = ['destroy', 'stop', 'pause', 'snapshot-then-destroy'];
const profiles: Profile[] = ends.map((atExpiry) => ({
  name: `ends-${atExpiry}`,
  version: 1,
  sourceRequired: false,
  spec: { runtime: { persistence: 'persistent' } },
  lease: { ttlSeconds: hour, maxTtlSeconds: 4 * hour, atExpiry },
}));

/** The clock on the wall, which a test may set. */
let setBy = 0;
const clocks = { wall: () => Date.now() + setBy, steady: () => performance.now() };
let plane: ControlPlane;
beforeEach(async () => {
  setBy = 0;
  plane = await controlPlane({ profiles, clocks });
});
afterEach(() => plane.close());

const create = async (request: object = {}): Promise<Sandbox> =>
  (await plane.sandboxes.create(ada, { waitSeconds: 10, ...request })).sandbox;
const get = (id: string) => plane.sandboxes.get(ada, id);
/** What is due by the clock as it is set ends, and is waited for. */
const look = async () => {
  await plane.expiry.pass();
  await plane.runner.idle();
  await plane.expiry.pass();
  await plane.runner.idle();
};
const typesOf = async (id: string) =>
  (await plane.store.events.list({ subject: id, after: 0, limit: 100 })).map(({ type }) => type.split('.').at(-1));

test('a lease has the terms of its profile, within which its creator may choose', async () => {
  const { lease, expiresAt, createdAt } = await create({ profile: 'ends-stop', ttlSeconds: 9 * hour, idleSeconds: 60 });
  expect(lease).toEqual({
    ttlSeconds: 4 * hour,
    maxTtlSeconds: 4 * hour,
    idleSeconds: 60,
    warnSeconds: 300,
    atExpiry: 'stop',
  });
  expect(Date.parse(expiresAt ?? '') - Date.parse(createdAt)).toBeGreaterThan(4 * hour * 1000 - 1_000);
  expect((await create({ profile: 'ends-stop', atExpiry: 'destroy' })).lease.atExpiry).toBe('destroy');
  await expect(create({ profile: 'ends-stop', atExpiry: 'pause' })).rejects.toMatchObject({ code: 'request_invalid' });
  expect((await create({ atExpiry: 'pause' })).lease).toMatchObject({ ttlSeconds: null, atExpiry: 'pause' });
});

test.each([
  ['destroy', 'destroyed'],
  ['stop', 'stopped'],
  ['pause', 'paused'],
] as const)('at the end of a lease that says %s it is %s, because expired', async (atExpiry, state) => {
  const { id } = await create({ profile: `ends-${atExpiry}` });
  setBy = (hour - 1) * 1000;
  await look();
  expect((await get(id)).state).toBe('ready');
  setBy = (hour + 1) * 1000;
  await look();
  expect(await get(id)).toMatchObject({ state, reason: { code: 'expired' } });
  expect((await get(id)).expiresAt === null).toBe(atExpiry !== 'destroy');
});

test('where no snapshot can be kept it is paused instead of destroyed, which was said before', async () => {
  const { id, notices } = await create({ profile: 'ends-snapshot-then-destroy' });
  expect(notices).toContain('The driver fake cannot `snapshot-then-destroy`: it will be paused instead.');
  setBy = (hour + 1) * 1000;
  await look();
  expect(await get(id)).toMatchObject({ state: 'paused', reason: { code: 'expired' } });
});

test('one that somebody has stopped already keeps its files, and has no lease any more', async () => {
  const { id } = await create({ profile: 'ends-stop' });
  await plane.sandboxes.stop(ada, id, 10);
  setBy = (hour + 1) * 1000;
  await look();
  expect(await get(id)).toMatchObject({ state: 'stopped', expiresAt: null, reason: { code: 'requested' } });
  expect(await typesOf(id)).toContain('lease');
});

test('one that cannot be paused keeps its lease, and is tried again', async () => {
  const { id } = await create({ profile: 'ends-pause' });
  plane.driver.faults.plan('pause.before', { kind: 'fail' });
  setBy = (hour + 1) * 1000;
  await look();
  expect(await get(id)).toMatchObject({ state: 'ready', expiresAt: expect.any(String) });
  const at = Date.parse((await get(id)).expiresAt ?? '');
  await plane.expiry.keeper.endNow({ sandbox: await get(id), at, why: 'expired' });
  expect(await get(id)).toMatchObject({ state: 'paused', expiresAt: null });
});

test('a pass of the reconciler ends what is due, and what cannot be ended is not tried at every pass', async () => {
  const [good, bad] = [await create({ ttlSeconds: hour }), await create({ ttlSeconds: hour + 1 })];
  setBy = hour * 1000 + 500;
  await plane.settle();
  expect(await get(good.id)).toMatchObject({ state: 'destroyed', reason: { code: 'expired' } });
  setBy += 2_000;
  plane.driver.faults.plan('destroy.before', { kind: 'fail' }, 1_000);
  for (let n = 0; n < 6; n += 1) await plane.settle();
  expect((await typesOf(bad.id)).filter((type) => type === 'destroying')).toHaveLength(1);
});

test('a new lease begins when it goes on after its end', async () => {
  const { id } = await create({ profile: 'ends-pause' });
  setBy = (hour + 1) * 1000;
  await look();
  await expect(plane.leases.extend(ada, id, 60)).rejects.toMatchObject({ code: 'lease_ended' });
  await plane.sandboxes.resume(ada, id, 10);
  const { expiresAt, reason } = await get(id);
  expect(reason).toBeNull();
  expect(Date.parse(expiresAt ?? '')).toBeGreaterThan(Date.now() + (hour - 60) * 1000);
});

test('the warning comes once, before the end, and again after an extension', async () => {
  const { id } = await create({ profile: 'ends-destroy' });
  const warnings = async () => (await typesOf(id)).filter((type) => type === 'expiring').length;
  setBy = (hour - 301) * 1000;
  await look();
  expect(await warnings()).toBe(0);
  setBy = (hour - 299) * 1000;
  await look();
  await look();
  expect(await warnings()).toBe(1);
  await plane.leases.extend(ada, id, hour);
  setBy = (2 * hour - 299) * 1000;
  await look();
  expect(await warnings()).toBe(2);
});

test('a clock that is set forward ends what is due by it, and nothing because of idle time', async () => {
  const idle = await create({ idleSeconds: 1_800 });
  const leased = await create({ ttlSeconds: hour });
  await plane.expiry.pass();
  setBy = 2 * hour * 1000;
  await look();
  expect((await get(leased.id)).state).toBe('destroyed');
  expect((await get(idle.id)).state).toBe('ready');
});

test('a clock that is set back lets leases live until it says their time', async () => {
  const leased = await create({ ttlSeconds: hour });
  setBy = -24 * hour * 1000;
  await look();
  setBy = -1_000;
  await look();
  expect((await get(leased.id)).state).toBe('ready');
  setBy = (hour + 1) * 1000;
  await look();
  expect((await get(leased.id)).state).toBe('destroyed');
});

test('what nobody uses for its idle time ends, and what is used does not', async () => {
  await plane.expiry.open();
  const [used, unused] = [await create({ idleSeconds: 1 }), await create({ idleSeconds: 1, atExpiry: 'pause' })];
  const end = plane.idle.visit(used.id);
  await expect.poll(async () => (await get(unused.id)).state, { timeout: 30_000 }).toBe('paused');
  expect((await get(unused.id)).reason).toEqual({ code: 'idle', message: 'nobody used it for 1 s' });
  expect((await get(used.id)).state).toBe('ready');
  end();
  await expect.poll(async () => (await get(used.id)).state, { timeout: 30_000 }).toBe('destroyed');
});

test('the timer follows a lease that ends before the others, whether it is new or was there before a restart', async () => {
  await create({ ttlSeconds: hour });
  const before = await create({ ttlSeconds: 1 });
  plane = await plane.restart(profiles);
  await plane.expiry.open();
  await expect.poll(async () => (await get(before.id)).state, { timeout: 30_000 }).toBe('destroyed');
  const after = await create({ ttlSeconds: 1 });
  await expect.poll(async () => (await get(after.id)).state, { timeout: 30_000 }).toBe('destroyed');
});

test('an extension that meets the end lives, or was refused: never both', async () => {
  for (const atExpiry of ['destroy', 'stop', 'pause'] as const) {
    const made = await Promise.all(Array.from({ length: 12 }, () => create({ profile: `ends-${atExpiry}` })));
    setBy = (hour + 1) * 1000;
    const ending = look();
    const extended = await Promise.all(
      made.map(async ({ id }, n) => {
        for (let turn = 0; turn < n; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return plane.leases.extend(ada, id, hour).then(
          () => true,
          (error: unknown) => {
            expect(
              hasCode(
                error,
                'sandbox_destroying',
                'sandbox_destroyed',
                'sandbox_stopped',
                'sandbox_paused',
                'lease_ended',
              ),
            ).toBe(true);
            return false;
          },
        );
      }),
    );
    await ending;
    for (const [n, { id }] of made.entries()) expect((await get(id)).state === 'ready').toBe(extended[n]);
    setBy = 0;
  }
});

test('expire tells what is due and what ends soon, and ends on request only what is due', async () => {
  const soon = await create({ ttlSeconds: hour });
  const due = await create({ ttlSeconds: 1, name: 'due' });
  await expect.poll(() => Date.now() > Date.parse(due.expiresAt ?? ''), { timeout: 30_000 }).toBe(true);
  const within = { withinSeconds: 2 * hour };
  const dry = await plane.leases.expire(ada, { apply: false, ...within });
  expect(dry.items.map(({ sandbox, due: isDue, ended }) => [sandbox, isDue, ended])).toEqual([
    [due.id, true, false],
    [soon.id, false, false],
  ]);
  expect((await plane.leases.expire(stranger, { apply: true, ...within })).items).toEqual([]);
  const byBob = await plane.leases.expire(bob, { apply: true, ...within });
  expect(byBob.items[0]).toMatchObject({ ended: false, error: 'it belongs to ada' });
  const done = await plane.leases.expire(boss, { apply: true, ...within, project: 'web' });
  expect(done.items.map(({ sandbox, ended }) => [sandbox, ended])).toEqual([
    [due.id, true],
    [soon.id, false],
  ]);
  expect((await get(due.id)).state).toBe('destroyed');
});

test('only who may change a sandbox extends its lease', async () => {
  const { id } = await create({ ttlSeconds: 60 });
  await expect(plane.leases.extend(bob, id, 60)).rejects.toMatchObject({ code: 'not_owner' });
  await expect(plane.leases.extend(stranger, id, 60)).rejects.toMatchObject({ code: 'sandbox_not_found' });
});
