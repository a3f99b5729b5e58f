import { type CaissonEvent, newId, replay, type Sandbox, systemOwner } from '@caisson/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Grace } from '../../packages/server/src/sandbox/healing/grace.ts';
import { Papers } from '../../packages/server/src/sandbox/healing/papers.ts';
import { openSqlite } from '../../packages/server/src/store/database.ts';
import { ada, type ControlPlane, controlPlane, patient, single } from './control-plane.ts';

let plane: ControlPlane;
/** Seconds, as the grace time counts them. */
let clock = 0;
beforeEach(async () => {
  clock = 0;
  const prices = [{ driver: 'fake', perHour: 3_600, perCpuHour: 0, perGiBHour: 0 }];
  plane = await controlPlane({ deadlines: patient, prices, grace: () => new Grace(60_000, () => clock * 1000) });
});
afterEach(() => plane.close());

const never = new AbortController().signal;
const create = async (change: object = {}): Promise<Sandbox> =>
  (await plane.sandboxes.create(ada, { waitSeconds: 120, ...change })).sandbox;
const listed = async () => (await plane.driver.list(never)).instances.map(({ key }) => key.sandbox);
const told = async (): Promise<CaissonEvent[]> =>
  (await plane.store.events.list({ types: ['caisson.host.repair'], after: 0, limit: 100 })) as CaissonEvent[];
const kinds = async () => (await plane.reconciler.pass()).map(({ kind, did }) => `${kind} ${did}`);
/** The database is gone, and somebody made the tenant again. */
const loseAll = async () => {
  plane = await plane.loseDatabase();
  await plane.store.tenants.know(ada.owner);
};

describe('an instance whose record was lost', () => {
  test('has it again, as it was launched, with an event and a notice', async () => {
    const labels = { team: 'blue' };
    const before = await create({ name: 'x', labels, ttlSeconds: 7_200, profile: 'kept' });
    const attempt = await plane.store.attempts.get(before.attempt ?? '');
    await loseAll();
    expect(await kinds()).toEqual(['adopted adopted']);
    const after = await plane.sandboxes.get(ada, before.id);
    const { notices, updatedAt, readyAt, ...rest } = before;
    expect(after).toMatchObject(rest);
    expect(after.notices).toContainEqual(expect.stringContaining('Its record was lost'));
    const again = await plane.store.attempts.get(after.attempt ?? '');
    for (const field of ['blueprint', 'spec', 'resolvedSpec', 'action', 'image'] as const)
      expect(again?.[field]).toEqual(attempt?.[field]);
    const events = await plane.store.events.list({ subject: before.id, after: 0, limit: 10 });
    expect(events.map(({ type }) => type)).toEqual(['caisson.sandbox.ready', 'caisson.sandbox.repair']);
    expect(replay(events)).toEqual({ state: 'ready', action: null });
    expect(await plane.store.tenants.liveSandboxes('acme')).toBe(1);
    expect(
      (await plane.store.sandboxes.list({ ...ada.owner, labels: [['team', 'blue']], destroyedToo: false, limit: 5 }))
        .length,
    ).toBe(1);
    expect(await kinds()).toEqual([]);
  });

  test('can be used as before: paused, resumed, recreated and destroyed', async () => {
    const { id } = await create();
    await plane.sandboxes.pause(ada, id, { waitSeconds: 120, drainSeconds: 0 });
    await loseAll();
    await plane.reconciler.pass();
    expect((await plane.sandboxes.get(ada, id)).state).toBe('paused');
    await plane.sandboxes.resume(ada, id, 120);
    await plane.sandboxes.recreate(ada, id, 120);
    expect(await plane.sandboxes.get(ada, id)).toMatchObject({ state: 'ready', incarnation: 2 });
    await plane.sandboxes.destroy(ada, id, 120);
    expect(await listed()).toEqual([]);
    expect(await plane.store.tenants.liveSandboxes('acme')).toBe(0);
  });

  test('is what `ensure` means, and the one of its owner', async () => {
    const { id } = await create({ profile: single.name });
    await loseAll();
    await plane.reconciler.pass();
    const request = { profile: single.name, waitSeconds: 120 };
    expect((await plane.sandboxes.ensure(ada, request)).sandbox.id).toBe(id);
    await expect(plane.sandboxes.create(ada, request)).rejects.toMatchObject({ code: 'sandbox_exists' });
  });

  test('has what changed before its launch: the incarnation', async () => {
    const { id } = await create();
    await plane.sandboxes.recreate(ada, id, 120);
    await loseAll();
    await plane.reconciler.pass();
    expect(await plane.sandboxes.get(ada, id)).toMatchObject({ state: 'ready', incarnation: 2 });
  });

  test('has time to be looked at when its lease ended meanwhile', async () => {
    const { id } = await create({ ttlSeconds: 1 });
    await loseAll();
    await plane.reconciler.pass();
    const { expiresAt } = await plane.sandboxes.get(ada, id);
    expect(Date.parse(expiresAt ?? '')).toBeGreaterThan(Date.now() + 60_000);
  });

  test('that ended meanwhile is recorded as lost, with the reason', async () => {
    const { id } = await create();
    plane.backend.end({ sandbox: id, incarnation: 1 }, 'out_of_memory', 'killed at 512 MiB');
    await loseAll();
    await plane.settle();
    await plane.settle();
    expect(await plane.sandboxes.get(ada, id)).toMatchObject({ state: 'failed', reason: { code: 'out_of_memory' } });
  });

  test('is not adopted into a tenant that is not there, until it is', async () => {
    const { id } = await create();
    plane = await plane.loseDatabase();
    expect(await kinds()).toEqual(['unowned reported']);
    expect(await plane.store.tenants.get('acme')).toBeUndefined();
    await plane.store.tenants.know(ada.owner);
    expect(await kinds()).toEqual(['adopted adopted']);
    expect((await plane.sandboxes.get(ada, id)).state).toBe('ready');
  });

  test('is not adopted where its name is taken by now; the one that has it stays', async () => {
    const { id } = await create({ name: 'x' });
    await loseAll();
    const other = await create({ name: 'x' });
    expect(await kinds()).toEqual(['unowned reported']);
    clock = 61;
    expect(await kinds()).toEqual(['unowned reaped']);
    expect(await plane.store.sandboxes.get(id)).toBeUndefined();
    expect(await listed()).toEqual([other.id]);
  });
});

describe('papers', () => {
  test('of another instance, tenant, driver or installation count nothing, and neither do changed ones', async () => {
    const { id, owner } = await create();
    const labels: Record<string, string> = { ...plane.backend.find(`${id}.1`)?.labels };
    const { papers } = plane.work;
    const whose = { key: { sandbox: id, incarnation: 1 }, owner, driver: 'fake' };
    expect(papers?.read(labels, whose)).toMatchObject({ sandbox: id, owner });
    const read = (change: object, from = labels) => papers?.read(from, { ...whose, ...change });
    expect(read({ key: { sandbox: newId('sandbox'), incarnation: 1 } })).toBeUndefined();
    expect(read({ key: { sandbox: id, incarnation: 2 } })).toBeUndefined();
    expect(read({ owner: { ...owner, tenant: 'evil' } })).toBeUndefined();
    expect(read({ driver: 'docker' })).toBeUndefined();
    const label = labels['caisson.papers'] ?? '';
    for (let at = 0; at < label.length; at += 7) {
      const changed = `${label.slice(0, at)}${label[at] === 'A' ? 'B' : 'A'}${label.slice(at + 1)}`;
      expect(read({}, { ...labels, 'caisson.papers': changed })).toBeUndefined();
    }
    for (const bad of ['', '1', '1..', '1.x.y', '2.x.y', 'x'.repeat(100_000)])
      expect(read({}, { 'caisson.papers': bad })).toBeUndefined();
    const others = [
      new Papers({ id: 'elsewhere', secret: Buffer.alloc(32, 7) }),
      new Papers({ id: plane.store.installation, secret: Buffer.alloc(32, 8) }),
    ];
    for (const other of others) expect(other.read(labels, whose)).toBeUndefined();
  });

  test('that would be too large are left away, and the sandbox is made all the same', async () => {
    const noise = Array.from({ length: 4_000 }, () => newId('request')).join('');
    const env = Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => [`V${n}`, noise.slice(n * 7_000, n * 7_000 + 7_000)]),
    );
    const spec = { source: { kind: 'none' }, runtime: { env } };
    const { id, state } = await create({ spec });
    expect(state).toBe('ready');
    expect(Object.keys(plane.backend.find(`${id}.1`)?.labels ?? {})).not.toContain('caisson.papers');
  });
});

describe('what was destroyed', () => {
  test('stays destroyed, whatever papers its instance has', async () => {
    const { id } = await create();
    const instance = plane.backend.find(`${id}.1`);
    await plane.sandboxes.destroy(ada, id, 120);
    if (instance) plane.backend.put(instance);
    expect(await kinds()).toEqual(['unwanted reaped']);
    expect((await plane.sandboxes.get(ada, id)).state).toBe('destroyed');
    expect(await listed()).toEqual([]);
  });
});

test('what is held and counted for a sandbox that is gone is given back, with an event', async () => {
  await plane.store.credits.grant({ tenant: 'acme', amountMicros: 1_000_000_000 });
  await plane.store.quotas.set('acme', null, { sandboxes: 5 });
  const { id } = await create();
  const used = async () => (await plane.store.quotas.get('acme', null)).items[0]?.used;
  expect((await plane.store.credits.balance('acme')).heldMicros).toBeGreaterThan(0);
  const { db, close } = await openSqlite(plane.database);
  await db.updateTable('sandboxes').set({ state: 'destroyed' }).where('id', '=', id).execute();
  await close();
  expect((await kinds()).sort()).toEqual(['credits repaired', 'quota repaired', 'unwanted reaped']);
  expect((await plane.store.credits.balance('acme')).heldMicros).toBe(0);
  expect(await used()).toBe(0);
  const types = ['caisson.sandbox.repair', 'caisson.tenant.quota-repair'];
  const events = await plane.store.events.list({ types, after: 0, limit: 10 });
  expect(events.map(({ data }) => data.kind ?? 'quota').sort()).toEqual(['credits', 'quota', 'unwanted']);
});

describe('what nobody owns', () => {
  const launch = (labels: Record<string, string> = {}, owner = ada.owner) => {
    const key = { sandbox: newId('sandbox'), incarnation: 1 };
    return plane.driver.create({ key, owner, labels, blueprint: {} as never }, never).then(() => key);
  };

  test('is told once, and ended when its grace time is over', async () => {
    const { sandbox } = await launch();
    expect(await kinds()).toEqual(['unowned reported']);
    clock = 59;
    expect(await kinds()).toEqual([]);
    expect(plane.reconciler.grace.secondsLeft(`fake ${sandbox}.1`)).toBe(1);
    clock = 60;
    expect(await kinds()).toEqual(['unowned reaped']);
    expect(await listed()).toEqual([]);
    expect((await told()).map(({ subject, sequence, data }) => [subject, sequence, data.kind, data.did])).toEqual([
      [plane.store.installation, 1, 'unowned', 'reported'],
      [plane.store.installation, 2, 'unowned', 'reaped'],
    ]);
  });

  test('begins its grace time anew after a restart, and when it was away meanwhile', async () => {
    const key = await launch();
    await plane.reconciler.pass();
    clock = 59;
    plane = await plane.restart();
    expect(await kinds()).toEqual(['unowned reported']);
    const instance = plane.backend.find(`${key.sandbox}.1`);
    plane.backend.remove(key);
    clock = 90;
    expect(await kinds()).toEqual([]);
    if (instance) plane.backend.put(instance);
    clock = 120;
    expect(await kinds()).toEqual(['unowned reported']);
  });

  test('a room that a killed server left has none', async () => {
    await launch({ 'caisson.room': 'true' }, systemOwner);
    expect(await kinds()).toEqual(['unwanted reaped']);
  });

  test('what cannot be ended is tried again, and told when it is', async () => {
    await launch();
    await plane.reconciler.pass();
    clock = 61;
    plane.driver.faults.plan('destroy.before', { kind: 'fail' });
    expect(await kinds()).toEqual([]);
    expect(await kinds()).toEqual(['unowned reaped']);
  });

  test('an instance of another installation is told once and never touched', async () => {
    const { sandbox } = await launch({ 'caisson.installation': 'elsewhere' });
    expect(await kinds()).toEqual(['unowned reported']);
    clock = 1_000;
    expect(await kinds()).toEqual([]);
    await plane.reconciler.pass({ atOnce: true });
    expect(await listed()).toEqual([sandbox]);
  });
});
