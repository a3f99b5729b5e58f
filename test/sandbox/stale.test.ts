import { newId } from '@caisson/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Stale } from '../../packages/server/src/sandbox/stale.ts';
import type { Caller } from '../../packages/server/src/tenancy/caller.ts';
import { ada, type ControlPlane, controlPlane } from './control-plane.ts';

let plane: ControlPlane;
let stale: Stale;
beforeEach(async () => {
  plane = await controlPlane();
  stale = new Stale(plane);
});
afterEach(() => plane.close());

const keyed = (tenant: string): Caller => ({
  owner: { tenant, project: 'web', principal: 'ada' },
  scope: 'admin',
  key: newId('key'),
});
const create = async (caller: Caller = ada) => (await plane.sandboxes.create(caller, { waitSeconds: 10 })).sandbox;
const stateOf = async (id: string) => (await plane.store.sandboxes.get(id))?.state;
/** Every sandbox is older than this many seconds. */
const anyAge = -1;

describe('old sandboxes', () => {
  test('are told, and ended for who says how old', async () => {
    const { id } = await create();
    expect((await stale.find(ada, anyAge)).items).toMatchObject([{ kind: 'aged-sandbox', name: id, reapable: false }]);
    await stale.reap(ada, { apply: true });
    expect(await stateOf(id)).toBe('ready');
    const report = await stale.reap(ada, { apply: true, agedSeconds: anyAge });
    expect(report.items).toMatchObject([{ kind: 'aged-sandbox', name: id, reaped: true }]);
    expect(await stateOf(id)).toBe('destroyed');
  });

  test('of another tenant are neither seen nor ended by a key', async () => {
    const { id } = await create(keyed('acme'));
    const evil = keyed('evil');
    expect((await stale.find(evil, anyAge)).items).toEqual([]);
    await stale.reap(evil, { apply: true, agedSeconds: anyAge });
    expect(await stateOf(id)).toBe('ready');
    expect((await stale.find(keyed('acme'), anyAge)).items).toMatchObject([{ name: id }]);
  });
});

test('a record of another tenant that lost its instance is not told to a key', async () => {
  const { id } = await create();
  plane.backend.remove({ sandbox: id, incarnation: 1 });
  const kinds = async (caller: Caller) =>
    (await stale.find(caller, Number.POSITIVE_INFINITY)).items.map(({ kind }) => kind);
  expect(await kinds(keyed('evil'))).toEqual([]);
  expect(await kinds(keyed('acme'))).toEqual(['zombie-record']);
  expect(await kinds(ada)).toEqual(['zombie-record']);
});

test('what is on its way is nobody’s leftover', async () => {
  plane.driver.faults.plan('create.made', { kind: 'hang' });
  const creating = plane.sandboxes.create(ada, { waitSeconds: 0 }).catch(() => {});
  await expect.poll(() => plane.driver.faults.met).toContain('create.made');
  expect((await stale.find(ada, Number.POSITIVE_INFINITY)).items).toEqual([]);
  await creating;
  await plane.runner.idle();
});
