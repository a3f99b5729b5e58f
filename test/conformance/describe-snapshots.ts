import { type CaissonEvent, newId, type Sandbox, type Snapshot } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import type { NewSnapshot } from '../../packages/server/src/store/snapshots.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { ada, makeDestroyed, makeReady, newAttempt, newSandbox, noLimits, outcomes } from './store-fixtures.ts';

const inputs = {
  spec: { a: 1 },
  resolvedSpec: { a: 2 },
  blueprint: { b: 1 },
  driver: 'fake',
  persistence: 'ephemeral',
  profile: null,
  policy: { keepTurns: 100, perTool: false, autoPauseSeconds: null, autoResume: false },
  image: { digest: 'sha256:0', env: {} },
} as const;

type Wanted = Partial<Omit<NewSnapshot, 'id' | 'inputs'>>;

/** The laws of the store's snapshots, on whatever engine. */
export function describeSnapshots(open: () => Store): void {
  const begin = (sandbox: Sandbox, wanted: Wanted = {}) =>
    open().snapshots.begin(sandbox, {
      kind: 'named',
      name: null,
      labels: {},
      ...wanted,
      id: newId('snapshot'),
      inputs,
    });
  const make = async (sandbox: Sandbox, wanted: Wanted = {}): Promise<Snapshot> =>
    open().snapshots.finish((await begin(sandbox, wanted)).id, null);
  const remove = async (id: string) => {
    await open().snapshots.beginDelete(id);
    await open().snapshots.endDelete(id);
  };
  const headOf = async ({ id }: Sandbox) => (await open().sandboxes.get(id))?.head;
  const parentOf = async ({ id }: { id: string }) => (await open().snapshots.get(id))?.parent;
  const names = async (sandbox: Sandbox, more = {}) =>
    (await open().snapshots.list({ ...ada, sandbox: sandbox.id, limit: 100, ...more })).map(({ name }) => name);

  describe('snapshots', () => {
    test('are there only when they are whole, and tell so', async () => {
      const store = open();
      const sandbox = await makeReady(store);
      const begun = await begin(sandbox, { name: 'one', labels: { a: 'b' } });
      expect(begun).toMatchObject({ state: 'making', name: 'one', sandbox: sandbox.id, owner: ada });
      expect(await names(sandbox)).toEqual([]);
      expect(await store.snapshots.named(sandbox.id, 'one')).toBeUndefined();
      expect(await headOf(sandbox)).toBeNull();
      expect((await store.snapshots.unfinished(1000)).map(({ id }) => id)).toContain(begun.id);
      const seen: CaissonEvent[] = [];
      const stop = store.onEvent((event) => seen.push(event));
      const made = await store.snapshots.finish(begun.id, null);
      stop();
      expect(made).toMatchObject({ id: begun.id, name: 'one', kind: 'named', turn: null, labels: { a: 'b' } });
      expect(seen).toMatchObject([
        { type: 'caisson.sandbox.snapshot', subject: sandbox.id, data: { snapshot: made.id } },
      ]);
      expect(await headOf(sandbox)).toBe(made.id);
      expect(await store.snapshots.inputs(made.id)).toEqual(inputs);
      expect((await store.snapshots.unfinished(1000)).map(({ id }) => id)).not.toContain(begun.id);
      await expect(store.snapshots.finish(begun.id, null)).rejects.toMatchObject({ code: 'snapshot_not_found' });
    });

    test('of turns have numbers that never come twice, whatever becomes of them', async () => {
      const sandbox = await makeReady(open());
      const many = await Promise.all(Array.from({ length: 20 }, () => begin(sandbox, { kind: 'turn' })));
      expect(many.flatMap(({ turn }) => turn ?? []).sort((a, b) => a - b)).toEqual(many.map((_, index) => index + 1));
      for (const { id } of many) await remove(id);
      expect(await make(sandbox, { kind: 'turn' })).toMatchObject({ turn: 21, name: 'turn-0021' });
      const recreated = await open().sandboxes.step(sandbox, { action: 'recreate', enter: 'provisioning' });
      await open().sandboxes.step(recreated.sandbox, { action: 'recreate', end: 'success' });
      expect((await make(sandbox, { kind: 'turn' })).turn).toBe(22);
      expect((await make(sandbox)).turn).toBeNull();
      expect((await open().sandboxes.get(sandbox.id))?.turn).toBe(22);
    });

    test('are a tree that stays one when some are removed', async () => {
      const sandbox = await makeReady(open());
      const [one, two] = [await make(sandbox), await make(sandbox)];
      const [left, right] = [await make(sandbox), await begin(sandbox)];
      expect([one.parent, two.parent, left.parent, right.parent]).toEqual([null, one.id, two.id, left.id]);
      await remove(two.id);
      expect(await parentOf(left)).toBe(one.id);
      await remove(left.id);
      expect(await headOf(sandbox)).toBe(one.id);
      expect(await parentOf(right)).toBe(one.id);
      await remove(one.id);
      expect(await headOf(sandbox)).toBeNull();
      expect(await parentOf(right)).toBeNull();
      expect(await open().snapshots.get(one.id)).toBeUndefined();
    });

    test('go on from where a rollback led', async () => {
      const store = open();
      const sandbox = await makeReady(store);
      const [one, two] = [await make(sandbox), await make(sandbox)];
      const ready = (await store.sandboxes.get(sandbox.id)) as Sandbox;
      const entered = await store.sandboxes.step(
        ready,
        { action: 'rollback', enter: 'rolling_back' },
        { rollbackTo: one.id },
      );
      expect(entered.sandbox).toMatchObject({ rollbackTo: one.id, head: two.id });
      expect(await store.snapshots.isInUse(one.id)).toBe(true);
      expect(await store.snapshots.isInUse(two.id)).toBe(false);
      const end = { head: one.id, rollbackTo: null };
      await store.sandboxes.step(entered.sandbox, { action: 'rollback', end: 'success' }, end);
      expect(await store.snapshots.isInUse(one.id)).toBe(false);
      expect((await make(sandbox)).parent).toBe(one.id);
      expect(await parentOf(two)).toBe(one.id);
    });

    test('have names that are unique within a sandbox, also while they are made, and free when they are removed', async () => {
      const [sandbox, other] = [await makeReady(open()), await makeReady(open())];
      const same = Array.from({ length: 5 }, () => begin(sandbox, { name: 'same' }));
      expect(await outcomes(same)).toEqual({ ok: 1, snapshot_exists: 4 });
      await make(other, { name: 'same' });
      const mine = await make(sandbox, { name: 'mine' });
      const turn = await make(sandbox, { kind: 'turn' });
      const { snapshots } = open();
      await expect(snapshots.relabel(turn.id, { name: 'mine' })).rejects.toMatchObject({ code: 'snapshot_exists' });
      await snapshots.beginDelete(mine.id);
      expect(await snapshots.relabel(turn.id, { name: 'mine', labels: { c: 'd' } })).toMatchObject({
        name: 'mine',
        kind: 'named',
        turn: 1,
        labels: { c: 'd' },
      });
      expect((await snapshots.named(sandbox.id, 'mine'))?.id).toBe(turn.id);
      await expect(snapshots.relabel(mine.id, { labels: {} })).rejects.toMatchObject({ code: 'snapshot_not_found' });
    });

    test('beyond what is kept are the oldest of their kind, oldest first', async () => {
      const sandbox = await makeReady(open());
      const turns: Snapshot[] = [];
      for (let turn = 0; turn < 6; turn += 1) turns.push(await make(sandbox, { kind: 'turn' }));
      await make(sandbox, { name: 'named' });
      await make(sandbox, { kind: 'tool' });
      await begin(sandbox, { kind: 'turn' });
      const { snapshots } = open();
      expect(await snapshots.beyond(sandbox.id, 'turn', 4)).toEqual(turns.slice(0, 2).map(({ id }) => id));
      expect(await snapshots.beyond(sandbox.id, 'turn', 6)).toEqual([]);
      expect(await snapshots.beyond(sandbox.id, 'tool', 0)).toHaveLength(1);
      await snapshots.relabel(turns[0]?.id ?? '', { name: 'saved' });
      expect(await snapshots.beyond(sandbox.id, 'turn', 4)).toEqual([turns[1]?.id]);
      expect(await snapshots.count(sandbox.id, 'named')).toBe(2);
    });

    test('are listed by what they are, newest first, page by page, and none of forks', async () => {
      const sandbox = await makeReady(open());
      for (const name of ['a', 'b', 'c']) await make(sandbox, { name });
      await make(sandbox, { kind: 'turn' });
      await make(sandbox, { kind: 'fork' });
      expect((await names(sandbox)).sort()).toEqual(['a', 'b', 'c', 'turn-0001']);
      expect(await names(sandbox, { kind: 'turn' })).toEqual(['turn-0001']);
      expect(await names(sandbox, { name: 'b' })).toEqual(['b']);
      expect(await names(sandbox, { tenant: 'others' })).toEqual([]);
      expect(await names(sandbox, { project: 'others' })).toEqual([]);
      const paged: Snapshot[] = [];
      for (let after: string | undefined; ; ) {
        const page = await open().snapshots.list({ ...ada, sandbox: sandbox.id, after, limit: 3 });
        paged.push(...page);
        after = page.at(-1)?.id;
        if (page.length < 3) break;
      }
      expect(paged.map(({ id }) => id)).toEqual([...new Set(paged.map(({ id }) => id))].sort().reverse());
      expect(paged).toHaveLength(4);
    });

    test('of forks are seen by nobody, tell nothing and are no head', async () => {
      const store = open();
      const sandbox = await makeReady(store);
      const { sequence } = (await store.events.list({ subject: sandbox.id, after: 0, limit: 10 })).at(-1) ?? {};
      const fork = await make(sandbox, { kind: 'fork' });
      expect(await headOf(sandbox)).toBeNull();
      expect((await store.snapshots.forks(1000)).map(({ id }) => id)).toContain(fork.id);
      const attempt = { ...newAttempt(), action: 'fork', fromSnapshot: fork.id } as const;
      const origin = { sandbox: sandbox.id, snapshot: fork.id };
      const { sandbox: made } = await store.sandboxes.create(newSandbox({ origin }), attempt, noLimits);
      expect(await store.snapshots.isInUse(fork.id)).toBe(true);
      await makeDestroyed(store, made);
      await store.sandboxes.get(made.id);
      await remove(fork.id);
      expect((await store.events.list({ subject: sandbox.id, after: 0, limit: 10 })).at(-1)?.sequence).toBe(sequence);
    });

    test('outlive their sandbox', async () => {
      const sandbox = await makeReady(open());
      const made = await make(sandbox, { name: 'kept' });
      await makeDestroyed(open(), (await open().sandboxes.get(sandbox.id)) as Sandbox);
      expect(await names(sandbox)).toEqual(['kept']);
      expect(await open().snapshots.inputs(made.id)).toEqual(inputs);
    });

    test('are removed by one, and are nobody’s to use from then on', async () => {
      const store = open();
      const sandbox = await makeReady(store);
      const made = await make(sandbox, { name: 'gone' });
      const removals = await Promise.all([1, 2, 3].map(() => store.snapshots.beginDelete(made.id)));
      expect(removals.filter(Boolean)).toHaveLength(1);
      expect(await names(sandbox)).toEqual([]);
      expect((await store.snapshots.unfinished(1000)).map(({ id }) => id)).toContain(made.id);
      const ready = (await store.sandboxes.get(sandbox.id)) as Sandbox;
      const back = store.sandboxes.step(ready, { action: 'rollback', enter: 'rolling_back' }, { rollbackTo: made.id });
      await expect(back).rejects.toMatchObject({ code: 'snapshot_not_found' });
      const attempt = { ...newAttempt(), action: 'restore', fromSnapshot: made.id } as const;
      await expect(store.sandboxes.create(newSandbox(), attempt, noLimits)).rejects.toMatchObject({
        code: 'snapshot_not_found',
      });
      expect((await store.sandboxes.get(sandbox.id))?.state).toBe('ready');
      expect(await store.snapshots.beginDelete(newId('snapshot'))).toBe(false);
    });

    test('a removal that meets a use is seen by it, or sees it', async () => {
      const store = open();
      for (let round = 0; round < 10; round += 1) {
        const sandbox = await makeReady(store);
        const made = await make(sandbox);
        const ready = (await store.sandboxes.get(sandbox.id)) as Sandbox;
        const change = { rollbackTo: made.id };
        const [used, seen] = await Promise.allSettled([
          store.sandboxes.step(ready, { action: 'rollback', enter: 'rolling_back' }, change),
          store.snapshots.beginDelete(made.id).then(() => store.snapshots.isInUse(made.id)),
        ]);
        if (seen.status !== 'fulfilled') throw seen.reason;
        expect(seen.value).toBe(used.status === 'fulfilled');
      }
    });

    test('a request with an idempotency key is answered with the snapshot that it made', async () => {
      const store = open();
      const sandbox = await makeReady(store);
      const request = { caller: 'c', key: newId('request'), requestHash: 'h' };
      const [one, two] = [await begin(sandbox), await begin(sandbox)];
      expect(await store.idempotency.get('c', request.key)).toBeUndefined();
      const made = await store.snapshots.finish(one.id, null, request);
      expect(await store.idempotency.get('c', request.key)).toMatchObject({ answer: { status: 201, body: made } });
      await expect(store.snapshots.finish(two.id, null, request)).rejects.toMatchObject({
        code: 'idempotency_in_progress',
      });
      expect((await store.snapshots.get(two.id))?.state).toBe('making');
      expect(await headOf(sandbox)).toBe(one.id);
    });
  });
}
