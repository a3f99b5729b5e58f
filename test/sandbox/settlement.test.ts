import type { CaissonEvent } from '@caisson/contract';
import { afterEach, expect, test } from 'vitest';
import { Settlement } from '../../packages/server/src/credits/settlement.ts';
import { stopUnpaid } from '../../packages/server/src/sandbox/books.ts';
import { ada, type ControlPlane, controlPlane } from './control-plane.ts';

const hour = 3_600_000;
/** An hour costs a credit, and that of a second driver ten. */
const prices = [
  { driver: 'fake', perHour: 1_000_000, perCpuHour: 0, perGiBHour: 0 },
  { driver: 'second', perHour: 10_000_000, perCpuHour: 0, perGiBHour: 0 },
];
let plane: ControlPlane;
const open = async (micros: number) => {
  plane = await controlPlane({ prices, others: ['second'] });
  await plane.store.credits.grant({ tenant: 'acme', amountMicros: micros });
};
afterEach(() => plane.close());

const settlement = () => {
  const { store, runner } = plane;
  const exhausted = (id: Parameters<typeof stopUnpaid>[2]) => stopUnpaid(store, runner, id);
  return new Settlement({
    store,
    exhausted,
    warn: (error) => {
      throw error;
    },
  });
};
const create = async (change: object = {}) =>
  (await plane.sandboxes.create(ada, { waitSeconds: 10, ...change })).sandbox;
const balance = () => plane.store.credits.balance('acme');

test('what lives is charged while it lives, and set aside for again', async () => {
  await open(5_000_000);
  await create();
  expect(await settlement().pass(Date.now() + hour / 2 + 60_000)).toBe(1);
  const { usedMicros, heldMicros, availableMicros } = await balance();
  expect(usedMicros).toBeGreaterThanOrEqual(500_000);
  expect(heldMicros).toBe(1_000_000);
  expect(usedMicros + heldMicros + availableMicros).toBe(5_000_000);
  expect(await settlement().pass(Date.now())).toBe(0);
});

test('one that nothing is left for is told so once, and stopped with the reason', async () => {
  await open(1_500_000);
  const events: CaissonEvent[] = [];
  plane.store.onEvent((event) => events.push(event));
  const { id } = await create();
  const began = Date.now();
  for (const minutes of [45, 60, 75]) await settlement().pass(began + minutes * 60_000);
  const low = () => events.filter(({ type }) => type === 'caisson.sandbox.credits-low');
  expect(low()).toHaveLength(1);
  expect((await plane.store.sandboxes.get(id))?.state).toBe('ready');
  await settlement().pass(began + 89.5 * 60_000);
  await plane.runner.idle();
  expect(await plane.store.sandboxes.get(id)).toMatchObject({
    state: 'stopped',
    reason: { code: 'credits_exhausted' },
  });
  expect(low()).toHaveLength(1);
  const { availableMicros, usedMicros, ...rest } = await balance();
  expect(rest).toMatchObject({ heldMicros: 0, unpaidMicros: 0 });
  expect(availableMicros + usedMicros).toBe(1_500_000);
});

test('a create that moves on to a dearer backend pays its price, and ends where nobody can', async () => {
  await open(5_000_000);
  plane.driver.faults.plan('create.before', { kind: 'fail', code: 'driver_failed' } as never, 10);
  await expect(create()).rejects.toMatchObject({ code: 'insufficient_credits' });
  expect(await balance()).toMatchObject({ heldMicros: 0, usedMicros: 0, availableMicros: 5_000_000 });
  await plane.store.credits.grant({ tenant: 'acme', amountMicros: 20_000_000 });
  expect(await create()).toMatchObject({ state: 'ready', driver: 'second' });
  expect((await balance()).heldMicros).toBe(10_000_000);
});

test('what a killed server left of a create is held for, and given back when it ends', async () => {
  await open(5_000_000);
  plane.driver.faults.plan('create.made', { kind: 'wedge' } as never, 1);
  void create().catch(() => {});
  await expect.poll(async () => (await balance()).heldMicros).toBe(1_000_000);
  plane = await plane.restart();
  await plane.settle();
  const [sandbox] = await plane.store.sandboxes.inState('ready', '', 10);
  expect((await balance()).heldMicros).toBe(1_000_000);
  if (sandbox) await plane.sandboxes.destroy(ada, sandbox.id, 10);
  expect((await balance()).heldMicros).toBe(0);
});
