import { type CaissonEvent, hasCode, replay, type Sandbox, systemOwner } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import { extendedEnd } from '../../packages/server/src/leases/extension.ts';
import { noLease } from '../../packages/server/src/store/lease-columns.ts';
import type { NewSandbox } from '../../packages/server/src/store/sandboxes.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { makeDestroyed, makeReady } from './store-fixtures.ts';

const terms = { ...noLease, ttlSeconds: 60, maxTtlSeconds: 600, warnSeconds: 6 };

/** What is kept of leases, on whichever store. */
export function describeLeases(open: () => Store): void {
  describe('leases', () => {
    const leased = (endsInMs: number, change: Partial<NewSandbox> = {}) =>
      makeReady(open(), { expiresAt: Date.now() + endsInMs, lease: terms, ...change });
    const extend = (id: Sandbox['id'], seconds: number) =>
      open().leases.extend(id, { end: (lease) => extendedEnd(lease, seconds) });
    const dueIds = async (time: 'warn_at' | 'expires_at' | 'idle_at', now = Date.now()) =>
      (await open().leases.due(time, now, 1_000)).map(({ sandbox }) => sandbox.id);
    const told = async (subject: string): Promise<CaissonEvent[]> =>
      open().events.list({ subject, after: 0, limit: 50 });

    test('what is due to expire is found, the earliest first, and nothing else', async () => {
      const [second, first, later] = [await leased(-1), await leased(-1_000), await leased(60_000)];
      const member = await leased(-2_000, { owner: systemOwner, pool: 'p' });
      const ids = await dueIds('expires_at');
      expect(ids.filter((id) => [first.id, second.id].includes(id))).toEqual([first.id, second.id]);
      expect(ids).not.toContain(later.id);
      expect(ids).not.toContain(member.id);
      await makeDestroyed(open(), first);
      await makeDestroyed(open(), second);
      expect(await dueIds('expires_at')).not.toContain(first.id);
    });

    test('the next time is the earliest of all warnings, ends and idle times', async () => {
      const far = Date.now() + 10 * 86_400_000;
      await leased(far - Date.now() + 50_000);
      expect(await open().leases.next(far)).toBe((await open().leases.next(far - 1)) ?? 0);
      const { id } = await leased(far - Date.now() + 20_000);
      const warning = Date.parse((await open().sandboxes.get(id))?.expiresAt ?? '') - 6_000;
      expect(await open().leases.next(far)).toBe(warning);
    });

    test('an extension moves the end and the warning, and is told', async () => {
      const sandbox = await leased(1_000);
      const extended = await extend(sandbox.id, 100);
      expect(Date.parse(extended.expiresAt ?? '') - Date.parse(sandbox.expiresAt ?? '')).toBe(100_000);
      expect(await dueIds('warn_at')).not.toContain(sandbox.id);
      const last = (await told(sandbox.id)).at(-1);
      expect(last).toMatchObject({ type: 'caisson.sandbox.lease', data: { expiresAt: extended.expiresAt } });
      expect(replay(await told(sandbox.id))).toEqual({ state: 'ready', action: null });
    });

    test('an extension beyond the maximum is refused, says where that is, and changes nothing', async () => {
      const sandbox = await leased(60_000);
      const maxExpiresAt = new Date(Date.parse(sandbox.createdAt) + 600_000).toISOString();
      await expect(extend(sandbox.id, 600)).rejects.toMatchObject({
        code: 'lease_max_reached',
        message: expect.stringContaining(maxExpiresAt),
        context: { maxTtlSeconds: 600, maxExpiresAt },
      });
      expect(await open().sandboxes.get(sandbox.id)).toEqual(sandbox);
    });

    test('what has no end cannot be extended', async () => {
      const { id } = await makeReady(open());
      await expect(extend(id, 60)).rejects.toMatchObject({ code: 'lease_endless' });
    });

    test('a warning is told once for each end', async () => {
      const store = open();
      const { id } = await leased(5_000);
      const [due] = (await store.leases.due('warn_at', Date.now(), 1_000)).filter(({ sandbox }) => sandbox.id === id);
      if (!due) throw new Error('no warning is due');
      expect(await store.leases.warn(due, Date.now())).toBe(true);
      expect(await store.leases.warn(due, Date.now())).toBe(false);
      const expiring = async () => (await told(id)).filter(({ type }) => type === 'caisson.sandbox.expiring').length;
      expect(await expiring()).toBe(1);
      await extend(id, 60);
      expect(await dueIds('warn_at', Date.now() + 61_000)).toContain(id);
    });

    test('a warning of a lease that has ended by now is not told', async () => {
      const store = open();
      const { id } = await leased(-5_000);
      const [due] = (await store.leases.due('warn_at', Date.now(), 1_000)).filter(({ sandbox }) => sandbox.id === id);
      if (!due) throw new Error('no warning is due');
      expect(await store.leases.warn(due, Date.now())).toBe(false);
      expect(await dueIds('warn_at')).not.toContain(id);
    });

    test('idle time begins when a sandbox is ready, and moves with its use and with the clock', async () => {
      const store = open();
      const { id } = await makeReady(store, { lease: { ...noLease, idleSeconds: 100 } });
      expect(await dueIds('idle_at')).not.toContain(id);
      const later = Date.now() + 101_000;
      const [due] = (await store.leases.due('idle_at', later, 1_000)).filter(({ sandbox }) => sandbox.id === id);
      await store.leases.idleUntil(id, due?.at ?? 0, later + 50_000);
      expect(await dueIds('idle_at', later)).not.toContain(id);
      await store.leases.shiftIdle(-60_000);
      expect(await dueIds('idle_at', later)).toContain(id);
    });

    test('of an extension and an end that meet, one is refused: never both, never neither', async () => {
      const store = open();
      const rounds = 40;
      const results = await Promise.all(
        Array.from({ length: rounds }, async (_, n) => {
          const sandbox = await leased(-1);
          const ifLease = { expiresAt: Date.parse(sandbox.expiresAt ?? '') };
          const end = () =>
            store.sandboxes.step(sandbox, { action: 'destroy', enter: 'destroying' }, { ifLease }).then(() => 'ended');
          const more = () => extend(sandbox.id, 60).then(() => 'extended');
          const order = n % 2 === 0 ? [end(), more()] : [more(), end()];
          const met = await Promise.allSettled(order);
          const won = met.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
          const refused = met.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
          expect(won).toHaveLength(1);
          expect(hasCode(refused[0], 'state_changed', 'sandbox_destroying')).toBe(true);
          const state = (await store.sandboxes.get(sandbox.id))?.state;
          expect(state).toBe(won[0] === 'ended' ? 'destroying' : 'ready');
          return won[0];
        }),
      );
      expect(new Set(results)).toEqual(new Set(['ended', 'extended']));
    });

    test('a new lease begins with a start, and its maximum counts from there', async () => {
      const store = open();
      const sandbox = await leased(-1);
      const at = Date.parse(sandbox.expiresAt ?? '');
      const stopping = await store.sandboxes.step(
        sandbox,
        { action: 'stop', enter: 'stopping' },
        { ifLease: { expiresAt: at }, reason: { code: 'expired', message: 'its lease ended' } },
      );
      const { sandbox: stopped } = await store.sandboxes.step(stopping.sandbox, { action: 'stop', end: 'success' });
      await expect(extend(sandbox.id, 60)).rejects.toMatchObject({ code: 'lease_ended' });
      expect(await store.leases.conclude(sandbox.id, { expiresAt: at })).toBe(true);
      expect(await store.leases.conclude(sandbox.id, { expiresAt: at })).toBe(false);
      const endsAt = Date.now() + 60_000;
      const started = await store.sandboxes.step(
        stopped,
        { action: 'start', enter: 'starting' },
        { reason: null, lease: { endsAt } },
      );
      await store.sandboxes.step(started.sandbox, { action: 'start', end: 'success' });
      expect(Date.parse((await extend(sandbox.id, 530)).expiresAt ?? '')).toBe(endsAt + 530_000);
      await expect(extend(sandbox.id, 60)).rejects.toMatchObject({ code: 'lease_max_reached' });
    });
  });
}
