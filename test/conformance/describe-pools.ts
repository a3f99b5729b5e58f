import { type Id, newId, type Owner, replay, type Sandbox, systemOwner } from '@caisson/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../packages/server/src/store/store.ts';
import { ada, makeReady, newAttempt, newSandbox, noLimits, outcomes, put } from './store-fixtures.ts';

const pool = 'warm@1 fake blueprint-sha256:0';

const claimable = ({ id, attempt, notices }: Sandbox) => ({ id, pool, attempt: attempt as Id<'attempt'>, notices });

/** The laws of members of warm pools, on whichever store. */
export function describePools(open: () => Store): void {
  describe('pools', () => {
    const member = () => makeReady(open(), { owner: systemOwner, pool, notices: ['of the making'] });
    const ownerOfOne = (): Owner => ({ ...ada, tenant: `t${newId('tenant').slice(3, 15)}` });
    const claim = (seen: Sandbox, change: Parameters<typeof newSandbox>[0] = {}, limits = noLimits) =>
      open().pools.claim(claimable(seen), newSandbox(change), newAttempt(), limits);

    test('a claim of one that does not answer is taken back whole', async () => {
      const store = open();
      const seen = await member();
      const { id } = seen;
      const before = await store.pools.member(id);
      const isAlive = Promise.resolve(false);
      const claimed = store.pools.claim(claimable(seen), newSandbox(), newAttempt(), noLimits, { isAlive });
      expect(await claimed).toBeUndefined();
      expect(await store.pools.member(id)).toEqual(before);
    });

    test('a claim gives a member everything that a new sandbox has, and one event', async () => {
      const store = open();
      const seen = await member();
      const { id, attempt } = seen;
      const owner = ownerOfOne();
      const hosted = async () => (await store.hosts.list()).find(({ name }) => name === 'here')?.liveSandboxes;
      const before = await hosted();
      const expiresAt = Date.now() + 60_000;
      const inputs = { ...newAttempt(), spec: { mine: true }, resolvedSpec: { mine: 'too' } };
      const record = newSandbox({ owner, name: 'mine', labels: { team: 'a' }, notices: ['of the policy'], expiresAt });
      const claimed = await store.pools.claim(claimable(seen), record, inputs, noLimits);
      expect(claimed).toMatchObject({ id, owner, name: 'mine', labels: { team: 'a' }, state: 'ready', attempt });
      expect(claimed?.notices).toEqual(['of the policy', 'of the making']);
      expect(Date.parse(claimed?.expiresAt ?? '')).toBe(expiresAt);
      expect(await store.sandboxes.get(id)).toEqual(claimed);
      expect(await store.attempts.get(attempt ?? '')).toMatchObject({
        spec: { mine: true },
        resolvedSpec: { mine: 'too' },
      });
      const filter = { tenant: owner.tenant, project: owner.project, destroyedToo: false, limit: 10 };
      expect(await store.sandboxes.list({ ...filter, labels: [['team', 'a']] })).toEqual([claimed]);
      expect(await store.tenants.liveSandboxes(owner.tenant)).toBe(1);
      expect(await hosted()).toBe(before);
      const events = await store.events.list({ tenant: owner.tenant, after: 0, limit: 10 });
      expect(events).toMatchObject([{ type: 'caisson.sandbox.claimed', subject: id, data: { pool: 'warm@1', owner } }]);
      expect(replay(events)).toEqual({ state: 'ready', action: null });
      expect(replay(await store.events.list({ subject: id, after: 0, limit: 10 }))).toEqual({
        state: 'ready',
        action: null,
      });
    });

    test('of many claims of one member exactly one gets it', async () => {
      for (let round = 0; round < 5; round += 1) {
        const seen = await member();
        const claims = await Promise.all(Array.from({ length: 20 }, () => claim(seen, { owner: ownerOfOne() })));
        const [winner, ...others] = claims.filter((one) => one !== undefined);
        expect(others).toEqual([]);
        expect(await open().sandboxes.get(seen.id)).toEqual(winner);
      }
    });

    test.each(['requested', 'failed', 'left', 'claimed'])('one that is %s is not handed out', async (how) => {
      const store = open();
      const sandbox = how === 'requested' ? await put(store, { owner: systemOwner, pool }) : await member();
      const reason = { code: 'guest_gone', message: 'x' } as const;
      if (how === 'failed') await store.sandboxes.step(sandbox, { action: 'lose', end: 'success' }, { reason });
      if (how === 'left') await store.pools.leave(sandbox.id);
      if (how === 'claimed') await claim(sandbox);
      const before = await store.sandboxes.get(sandbox.id);
      expect(await claim(sandbox, { owner: ownerOfOne() })).toBeUndefined();
      expect(await store.sandboxes.get(sandbox.id)).toEqual(before);
    });

    test.each(['pool', 'attempt'] as const)('one whose %s is another by now is not handed out', async (what) => {
      const seen = await member();
      const other = { ...claimable(seen), [what]: what === 'pool' ? `${pool}1` : newId('attempt') };
      expect(await open().pools.claim(other, newSandbox(), newAttempt(), noLimits)).toBeUndefined();
      expect(await open().sandboxes.get(seen.id)).toEqual(seen);
    });

    test('members count on their host and not as sandboxes of a tenant', async () => {
      const store = open();
      const hosted = async () => (await store.hosts.list()).find(({ name }) => name === 'here')?.liveSandboxes ?? 0;
      await member();
      const before = await hosted();
      const limits = { ...noLimits, sandboxesPerTenant: 0 };
      await store.sandboxes.create(newSandbox({ owner: systemOwner, pool }), newAttempt(), limits);
      expect(await hosted()).toBe(before + 1);
      expect(await store.tenants.liveSandboxes(systemOwner.tenant)).toBe(0);
    });

    test('a claim that fails leaves the member as it was, and nothing else behind', async () => {
      const store = open();
      const seen = await member();
      const { id } = seen;
      const owner = ownerOfOne();
      await put(store, { owner, name: 'taken', slot: `slot ${owner.tenant}` });
      const before = [await store.pools.member(id), await store.events.end()];
      const limits = { ...noLimits, sandboxesPerTenant: 1 };
      const idempotency = { caller: owner.tenant, key: 'k', requestHash: 'h' };
      const refused = store.pools.claim(claimable(seen), newSandbox({ owner }), newAttempt(), limits, { idempotency });
      await expect(refused).rejects.toMatchObject({ code: 'max_sandboxes_reached' });
      await expect(claim(seen, { owner, name: 'taken' })).rejects.toMatchObject({ code: 'sandbox_exists' });
      await expect(claim(seen, { owner, slot: `slot ${owner.tenant}` })).rejects.toMatchObject({
        code: 'sandbox_exists',
      });
      expect([await store.pools.member(id), await store.events.end()]).toEqual(before);
      expect(await store.idempotency.get(owner.tenant, 'k')).toBeUndefined();
      expect(await claim(seen, { owner })).toMatchObject({ id });
    });

    test('two claims of two members with one idempotency key: one is refused', async () => {
      const members = [await member(), await member()];
      const idempotency = { caller: newId('request'), key: 'k', requestHash: 'h' };
      const record = newSandbox({ owner: ownerOfOne() });
      const claims = members.map((seen) =>
        open().pools.claim(claimable(seen), record, newAttempt(), noLimits, { idempotency }),
      );
      expect(await outcomes(claims)).toEqual({ ok: 1, idempotency_in_progress: 1 });
    });

    test('whatever happens to members at once, each has one end and every place is counted once', async () => {
      const store = open();
      const acts = fc.array(fc.tuple(fc.nat(2), fc.constantFrom('claim', 'leave', 'lose')), {
        minLength: 2,
        maxLength: 9,
      });
      await fc.assert(
        fc.asyncProperty(acts, async (chosen) => {
          const owner = ownerOfOne();
          const members = await Promise.all([member(), member(), member()]);
          const act = async (one: Sandbox, what: string) => {
            if (what === 'claim') return (await claim(one, { owner })) && 'claimed';
            if (what === 'leave') return (await store.pools.leave(one.id)) && 'left';
            const reason = { code: 'guest_gone', message: 'x' } as const;
            await store.sandboxes.step(one, { action: 'lose', end: 'success' }, { reason });
            return 'lost';
          };
          const ends = await Promise.all(
            chosen.map(
              async ([n, what]) => [n, await act(members[n] as Sandbox, what).catch(() => undefined)] as const,
            ),
          );
          let claimed = 0;
          for (const [n, { id }] of members.entries()) {
            const of = (end: string) => ends.filter(([at, what]) => at === n && what === end).length;
            const now = await store.sandboxes.get(id);
            expect(of('claimed')).toBeLessThanOrEqual(1);
            expect(now?.owner.tenant).toBe(of('claimed') === 1 ? owner.tenant : systemOwner.tenant);
            if (of('left') > 0) expect(of('claimed')).toBe(0);
            claimed += of('claimed');
          }
          expect(await store.tenants.liveSandboxes(owner.tenant)).toBe(claimed);
        }),
        { numRuns: 15 },
      );
    });

    test('the members of the system are found, also those that left their pool', async () => {
      const store = open();
      const [one, two] = [await member(), await member()];
      await store.pools.leave(two.id);
      const found = await store.pools.members();
      expect(found.find(({ sandbox }) => sandbox.id === one.id)).toMatchObject({ pool });
      expect(found.find(({ sandbox }) => sandbox.id === two.id)).toMatchObject({ pool: null });
    });

    test('bounds that were set are kept', async () => {
      await open().pools.setBounds('p', { min: 1, max: 2 });
      await open().pools.setBounds('p', { min: 0, max: 9 });
      expect((await open().pools.bounds()).get('p')).toEqual({ min: 0, max: 9 });
    });
  });
}
