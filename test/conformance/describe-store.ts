import { type CaissonEvent, newId, replay, type Sandbox, type Step } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgres, openSqlite } from '../../packages/server/src/store/database.ts';
import { openStore, type Store, type StoreLocation } from '../../packages/server/src/store/store.ts';
import { describeAudit } from './describe-audit.ts';
import { describeBuilds } from './describe-builds.ts';
import { describeCredits } from './describe-credits.ts';
import { describeHealing } from './describe-healing.ts';
import { describeJobs } from './describe-jobs.ts';
import { describeLeases } from './describe-leases.ts';
import { describeNetwork } from './describe-network.ts';
import { describePools } from './describe-pools.ts';
import { describeQuotas } from './describe-quotas.ts';
import { describeRoutes } from './describe-routes.ts';
import { describeSecrets } from './describe-secrets.ts';
import { describeSnapshots } from './describe-snapshots.ts';
import { describeToolCalls } from './describe-tool-calls.ts';
import { describeWebhooks } from './describe-webhooks.ts';
import { ada, makeDestroyed, makeReady, newAttempt, newSandbox, noLimits, outcomes, put } from './store-fixtures.ts';

/** One suite for both engines: the laws of the store, one test each. */
export function describeStore(
  name: string,
  place: () => Promise<StoreLocation>,
  begin: () => Promise<void> = async () => {},
): void {
  describe(`store ${name}`, () => {
    let store: Store;
    let location: StoreLocation;

    beforeAll(async () => {
      await begin();
      location = await place();
      store = await openStore(location);
      await store.hosts.seen('here', '1');
    }, 120_000);
    afterAll(async () => store?.close());

    test('opens again with the same installation, and its migrations do nothing twice', async () => {
      const again = await openStore(location);
      expect(again.installation).toBe(store.installation);
      await again.close();
    });

    test('a sandbox begins as requested, with its first event and its attempt', async () => {
      const seen: CaissonEvent[] = [];
      const stop = store.onEvent((event) => seen.push(event));
      const sandbox = await put(store, { name: 'first', labels: { team: 'a' } });
      stop();
      expect(sandbox).toMatchObject({
        state: 'requested',
        action: null,
        incarnation: 1,
        name: 'first',
        labels: { team: 'a' },
      });
      expect(await store.sandboxes.get(sandbox.id)).toEqual(sandbox);
      expect(await store.attempts.list(sandbox.id, 10)).toMatchObject([{ id: sandbox.attempt, state: 'running' }]);
      expect(await store.attempts.get(sandbox.attempt ?? '')).toMatchObject({ state: 'running', spec: { repo: 'x' } });
      expect(seen).toMatchObject([{ type: 'caisson.sandbox.requested', subject: sandbox.id, sequence: 1 }]);
      expect(await store.events.list({ subject: sandbox.id, after: 0, limit: 10 })).toEqual(seen);
    });

    test('of two that change one sandbox at the same moment exactly one succeeds', async () => {
      for (let round = 0; round < 10; round += 1) {
        const sandbox = await makeReady(store);
        const steps: Step[] = [
          { action: 'stop', enter: 'stopping' },
          { action: 'pause', enter: 'pausing' },
          { action: 'rollback', enter: 'rolling_back' },
        ];
        expect(await outcomes(steps.map((step) => store.sandboxes.step(sandbox, step)))).toEqual({
          ok: 1,
          state_changed: 2,
        });
      }
    });

    test('a step that the table refuses changes nothing', async () => {
      const sandbox = await put(store);
      await expect(store.sandboxes.step(sandbox, { action: 'stop', enter: 'stopping' })).rejects.toMatchObject({
        code: 'sandbox_not_ready',
      });
      expect(await store.sandboxes.get(sandbox.id)).toEqual(sandbox);
    });

    test('what somebody destroyed meanwhile says so', async () => {
      const sandbox = await makeReady(store);
      await makeDestroyed(store, sandbox);
      await expect(store.sandboxes.step(sandbox, { action: 'stop', enter: 'stopping' })).rejects.toMatchObject({
        code: 'sandbox_destroyed',
      });
    });

    test('the events of a sandbox replay to its state, without a gap', async () => {
      let sandbox: Sandbox = await makeReady(store);
      const steps: Step[] = [
        { action: 'stop', enter: 'stopping' },
        { action: 'stop', end: 'success' },
        { action: 'recreate', enter: 'provisioning' },
        { action: 'recreate', end: 'failure' },
        { action: 'destroy', enter: 'destroying' },
      ];
      for (const step of steps) {
        const change =
          step.action === 'recreate' && 'enter' in step
            ? { attempt: newAttempt('recreate'), raiseIncarnation: true }
            : {};
        sandbox = (await store.sandboxes.step(sandbox, step, change)).sandbox;
        await store.sandboxes.note(sandbox.id, 'caisson.sandbox.repair', { found: 'x', did: 'reported' });
      }
      const events = await store.events.list({ subject: sandbox.id, after: 0, limit: 100 });
      expect(replay(events)).toEqual({ state: sandbox.state, action: sandbox.action });
      expect(sandbox).toMatchObject({ state: 'destroying', incarnation: 2 });
    });

    test('a change that fails leaves neither a state nor an event nor a place taken', async () => {
      const before = [await store.events.end(), await store.tenants.liveSandboxes('acme')];
      await put(store, { name: 'taken' });
      const after = [await store.events.end(), await store.tenants.liveSandboxes('acme')];
      await expect(put(store, { name: 'taken' })).rejects.toMatchObject({ code: 'sandbox_exists' });
      expect([(await store.events.end()) - (after[0] ?? 0), await store.tenants.liveSandboxes('acme')]).toEqual([
        0,
        after[1],
      ]);
      expect(after).toEqual([(before[0] ?? 0) + 1, (before[1] ?? 0) + 1]);
    });

    test('a name is free again when its sandbox is destroyed, and always for others', async () => {
      const sandbox = await makeReady(store, { name: 'mine' });
      await put(store, { name: 'mine', owner: { ...ada, principal: 'bob' } });
      await put(store, { name: 'mine', owner: { ...ada, scope: 'night' } });
      await expect(put(store, { name: 'mine' })).rejects.toMatchObject({ code: 'sandbox_exists' });
      await makeDestroyed(store, sandbox);
      await put(store, { name: 'mine' });
    });

    test('of fifty creates for one slot at once exactly one succeeds', async () => {
      const slot = JSON.stringify(['slot', newId('request')]);
      expect(await outcomes(Array.from({ length: 50 }, () => put(store, { slot })))).toEqual({
        ok: 1,
        sandbox_exists: 49,
      });
    });

    test('limits hold under concurrency, and a destroyed sandbox gives its place back', async () => {
      const owner = { ...ada, tenant: `t${newId('tenant').slice(3, 15)}` };
      const limits = { ...noLimits, sandboxesPerTenant: 10 };
      expect(await outcomes(Array.from({ length: 40 }, () => put(store, { owner }, limits)))).toEqual({
        ok: 10,
        max_sandboxes_reached: 30,
      });
      const [one] = await store.sandboxes.list({
        tenant: owner.tenant,
        project: owner.project,
        destroyedToo: false,
        limit: 1,
      });
      if (!one) throw new Error('nothing was made');
      await makeDestroyed(store, one);
      expect(await store.tenants.liveSandboxes(owner.tenant)).toBe(9);
      expect(await outcomes([put(store, { owner }, limits), put(store, { owner }, limits)])).toEqual({
        ok: 1,
        max_sandboxes_reached: 1,
      });
    });

    test('a limit of a tenant of its own goes before the general one', async () => {
      const owner = { ...ada, tenant: 'small' };
      await store.tenants.know(owner);
      await store.tenants.limit('small', 1);
      await put(store, { owner });
      await expect(put(store, { owner })).rejects.toMatchObject({ code: 'max_sandboxes_reached' });
    });

    test('limits per host hold too', async () => {
      await store.hosts.seen('tiny', '1');
      const limits = { ...noLimits, sandboxesPerHost: 3 };
      expect(await outcomes(Array.from({ length: 9 }, () => put(store, { host: 'tiny' }, limits)))).toEqual({
        ok: 3,
        max_sandboxes_reached: 6,
      });
    });

    test('pages cover everything once, newest first, also when more is added meanwhile', async () => {
      const owner = { ...ada, project: 'paged' };
      const made: string[] = [];
      for (let n = 0; n < 25; n += 1) made.push((await put(store, { owner })).id);
      const found: string[] = [];
      let after: string | undefined;
      for (;;) {
        const page = await store.sandboxes.list({
          tenant: 'acme',
          project: 'paged',
          destroyedToo: true,
          limit: 7,
          after,
        });
        found.push(...page.map((sandbox) => sandbox.id));
        await put(store, { owner });
        if (page.length < 7) break;
        after = page.at(-1)?.id;
      }
      expect(found).toEqual([...found].sort().reverse());
      expect(new Set(found).size).toBe(found.length);
      for (const id of made) expect(found).toContain(id);
    });

    test('lists by state, profile, principal, name and labels', async () => {
      const owner = { ...ada, project: 'filtered' };
      const one = await makeReady(store, {
        owner,
        name: 'one',
        profile: { name: 'p', version: 2 },
        labels: { a: '1', b: '2' },
      });
      const two = await put(store, { owner: { ...owner, principal: 'bob' }, labels: { a: '1' } });
      const gone = await makeDestroyed(store, await makeReady(store, { owner }));
      const ids = async (filter: object) =>
        (await store.sandboxes.list({ tenant: 'acme', project: 'filtered', destroyedToo: false, limit: 50, ...filter }))
          .map(({ id }) => id)
          .sort();
      expect(await ids({})).toEqual([one.id, two.id].sort());
      expect(await ids({ destroyedToo: true })).toEqual([one.id, two.id, gone.id].sort());
      expect(await ids({ states: ['ready'] })).toEqual([one.id]);
      expect(await ids({ profile: 'p' })).toEqual([one.id]);
      expect(await ids({ principal: 'bob' })).toEqual([two.id]);
      expect(await ids({ name: 'one' })).toEqual([one.id]);
      expect(await ids({ labels: [['a', '1']] })).toEqual([one.id, two.id].sort());
      expect(
        await ids({
          labels: [
            ['a', '1'],
            ['b', '2'],
          ],
        }),
      ).toEqual([one.id]);
      expect(await ids({ labels: [['a', "1' or '1'='1"]] })).toEqual([]);
      expect(await ids({ project: 'another' })).toEqual([]);
    });

    test('a reader that follows positions misses nothing that concurrent writers commit', async () => {
      const from = await store.events.end();
      let writing = true;
      const read: number[] = [];
      const reader = (async () => {
        for (let after = from; ; ) {
          const last = !writing;
          const page = await store.events.list({ after, limit: 7 });
          read.push(...page.map((event) => event.position));
          after = page.at(-1)?.position ?? after;
          if (last && page.length === 0) return;
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      await Promise.all(Array.from({ length: 30 }, () => makeReady(store)));
      writing = false;
      await reader;
      expect(read).toHaveLength(90);
      expect(read).toEqual([...read].sort((a, b) => a - b));
    });

    test('what is ready and has an idle time is found in pages, and nothing else', async () => {
      const policy = { keepTurns: 1, perTool: false, autoPauseSeconds: 9, autoResume: true };
      const idling = [await makeReady(store, { policy }), await makeReady(store, { policy })];
      await makeReady(store);
      await put(store, { policy });
      const [first, second] = idling;
      expect(await store.sandboxes.thatIdle('', 100)).toEqual(idling);
      expect(await store.sandboxes.thatIdle('', 1)).toEqual([first]);
      expect(await store.sandboxes.thatIdle(first?.id ?? '', 1)).toEqual([second]);
    });

    test('whoever listens hears the record with each change of it', async () => {
      const heard: (Sandbox | undefined)[] = [];
      const stop = store.onEvent((_, sandbox) => heard.push(sandbox));
      const ready = await makeReady(store);
      await store.sandboxes.note(ready.id, 'caisson.sandbox.repair', {});
      stop();
      expect(heard.map((sandbox) => sandbox?.state)).toEqual(['requested', 'provisioning', 'ready', undefined]);
      expect(heard[2]).toEqual(ready);
    });

    test('a request with an idempotency key is written once, and keeps its first answer', async () => {
      const request = { caller: 'c', key: newId('request'), requestHash: 'h' };
      const create = () => store.sandboxes.create(newSandbox(), newAttempt(), noLimits, request);
      expect(await outcomes([create(), create(), create()])).toEqual({ ok: 1, idempotency_in_progress: 2 });
      expect(await store.idempotency.get('c', request.key)).toMatchObject({ requestHash: 'h', answer: null });
      await store.idempotency.answer(request, 201, { a: 1 });
      await store.idempotency.answer(request, 500, { b: 2 });
      expect(await store.idempotency.get('c', request.key)).toMatchObject({ answer: { status: 201, body: { a: 1 } } });
      expect(await store.idempotency.get('other', request.key)).toBeUndefined();
      await store.idempotency.prune(Date.now() + 48 * 3_600_000);
      expect(await store.idempotency.get('c', request.key)).toBeUndefined();
    });

    test('keys are found by their hash and stay revoked', async () => {
      const id = newId('key');
      await store.keys.create({ id, hash: `hash-${id}`, name: 'laptop', owner: ada, scope: 'use', expiresAt: null });
      expect(await store.keys.findByHash(`hash-${id}`)).toMatchObject({
        id,
        owner: ada,
        scope: 'use',
        revokedAt: null,
      });
      expect(await store.keys.any()).toBe(true);
      const first = await store.keys.revoke(id);
      expect(first?.revokedAt).not.toBeNull();
      expect(await store.keys.revoke(id)).toEqual(first);
      expect((await store.keys.list('acme', 10)).map((key) => key.id)).toContain(id);
      expect(await store.keys.list('others', 10)).toEqual([]);
    });

    describeSnapshots(() => store);
    describeJobs(() => store);
    describeBuilds(() => store);
    describeLeases(() => store);
    describeToolCalls(() => store);
    describeNetwork(() => store);
    describePools(() => store);
    describeRoutes(() => store);
    describeHealing(() => store);
    const raw = () => ('sqlite' in location ? openSqlite(location.sqlite) : openPostgres(location.postgres));
    describeQuotas(() => store, raw);
    describeAudit(() => store, raw);
    describeCredits(() => store, raw);
    describeSecrets(() => store);
    describeWebhooks(() => store);
  });
}
