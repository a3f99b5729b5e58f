import { type CaissonEvent, replay, type SelfCheck, systemOwner } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import type { StoredRoute } from '../../packages/server/src/store/routes.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { newAttempt, newSandbox, noLimits, put } from './store-fixtures.ts';

const route: StoredRoute = {
  strategy: 'explicit',
  chosen: { driver: 'fake', host: 'here' },
  maxPricePerHourMicros: null,
  pricesAsOf: '2026-11-15',
  candidates: [],
  claimed: false,
  failedTries: [],
};
const failed = { driver: 'fake', host: 'here', reason: { code: 'driver_failed', message: 'on fire' }, ms: 7 } as const;

/** What is kept of routes, on whichever store. */
export function describeRoutes(open: () => Store): void {
  describe('routes', () => {
    const begun = async () => {
      const store = open();
      const { sandbox } = await store.sandboxes.create(newSandbox(), { ...newAttempt(), route }, noLimits);
      return (await store.sandboxes.step(sandbox, { action: 'create', enter: 'provisioning' })).sandbox;
    };
    const routedMember = async () => {
      const store = open();
      const pool = 'routed@1 fake x';
      const made = newSandbox({ owner: systemOwner, pool });
      const attempt = { ...newAttempt(), route };
      const { sandbox } = await store.sandboxes.create(made, attempt, noLimits);
      const { sandbox: begun } = await store.sandboxes.step(sandbox, { action: 'create', enter: 'provisioning' });
      await store.sandboxes.step(begun, { action: 'create', end: 'success' });
      return { id: sandbox.id, pool, attempt: attempt.id, notices: [] };
    };
    const events = async (subject: string): Promise<CaissonEvent[]> =>
      open().events.list({ subject, after: 0, limit: 50 });
    const places = async (host: string) =>
      (await open().hosts.list()).find(({ name }) => name === host)?.liveSandboxes ?? 0;

    test('a decision is there with its attempt, and nowhere else', async () => {
      const { id, attempt } = await begun();
      expect(await open().routes.ofSandbox(id)).toEqual({ attempt, route });
      expect(await open().routes.ofSandbox((await put(open())).id)).toBeUndefined();
    });

    test('a move changes backend, attempt and places at once, and is told by one event', async () => {
      const store = open();
      await store.hosts.seen('there', '1');
      const sandbox = await begun();
      const [here, there] = [await places('here'), await places('there')];
      const next = { ...route, failedTries: [failed] };
      const moved = await store.routes.move(sandbox, { driver: 'second', host: 'there' }, next, failed);
      expect(moved).toMatchObject({ driver: 'second', host: 'there', state: 'provisioning', attempt: sandbox.attempt });
      expect([await places('here'), await places('there')]).toEqual([here - 1, there + 1]);
      expect(await store.attempts.get(sandbox.attempt ?? '')).toMatchObject({ driver: 'second', state: 'running' });
      expect((await store.routes.ofSandbox(sandbox.id))?.route.failedTries).toEqual([failed]);
      await store.sandboxes.step(moved, { action: 'create', end: 'success' });
      const told = await events(sandbox.id);
      expect(told.find(({ type }) => type === 'caisson.sandbox.rerouted')?.data).toMatchObject({
        from: { driver: 'fake', host: 'here' },
        to: { driver: 'second', host: 'there' },
      });
      expect(replay(told)).toEqual({ state: 'ready', action: null });
    });

    test('what was destroyed meanwhile is not moved', async () => {
      const sandbox = await begun();
      await open().sandboxes.step(sandbox, { action: 'destroy', enter: 'destroying' });
      const moving = open().routes.move(sandbox, { driver: 'second', host: 'here' }, route, failed);
      await expect(moving).rejects.toMatchObject({ code: 'state_changed' });
      expect((await open().sandboxes.get(sandbox.id))?.driver).toBe('fake');
    });

    test('a claim brings the route of whoever claims', async () => {
      const store = open();
      const member = await routedMember();
      await store.pools.claim(member, newSandbox(), { ...newAttempt(), route }, noLimits);
      expect((await store.routes.ofSandbox(member.id))?.route).toEqual({ ...route, claimed: true });
    });

    test('a claim without a route leaves the one that the member was made by', async () => {
      const store = open();
      const member = await routedMember();
      await store.pools.claim(member, newSandbox(), newAttempt(), noLimits);
      expect((await store.routes.ofSandbox(member.id))?.route).toEqual(route);
    });

    test('what was measured of a backend is replaced by what is measured later', async () => {
      const measure = { driver: 'fake', host: 'measured', ms: 12.345, weight: 1.5, at: 1_700_000_000_000 };
      await open().routes.keep([{ ...measure, ms: 99 }, measure]);
      expect((await open().routes.measured()).filter(({ host }) => host === 'measured')).toEqual([measure]);
    });

    test('a sandbox that looked at itself tells it before it is ready, without a gap', async () => {
      const checked: SelfCheck = { ok: true, launchMs: 1, checks: [] };
      const sandbox = await begun();
      await open().sandboxes.step(sandbox, { action: 'create', end: 'success' }, { checked });
      const told = await events(sandbox.id);
      expect(told.map(({ type, sequence }) => [type.split('.').at(-1), sequence])).toEqual([
        ['requested', 1],
        ['provisioning', 2],
        ['checked', 3],
        ['ready', 4],
      ]);
      expect(replay(told)).toEqual({ state: 'ready', action: null });
    });
  });
}
