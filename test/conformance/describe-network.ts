import type { NetworkRules } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import type { NewEgressRow } from '../../packages/server/src/store/egress-log.ts';
import type { HostTraffic } from '../../packages/server/src/store/egress-usage.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { ada, makeDestroyed, makeReady, outcomes } from './store-fixtures.ts';

const made: NetworkRules = { mode: 'open', allow: [], deny: [], limits: {}, secrets: [] };
const change = (part: Partial<NetworkRules>, revision?: number) => ({
  made,
  revision,
  by: 'ada',
  apply: (present: NetworkRules) => ({ ...present, ...part }),
});

function row(sandbox: string, more: Partial<NewEgressRow> = {}): NewEgressRow {
  const nothing = { address: null, rule: null, why: null, suggestion: null, secrets: null };
  const what = { verdict: 'allowed', host: 'example.com', port: 443, protocol: 'connect' };
  return { sandbox, time: 1_700_000_000_000, ...what, ...nothing, count: 1, ...more };
}

function traffic(sandbox: string, host: string, more: Partial<HostTraffic> = {}): HostTraffic {
  return { sandbox, host, sentBytes: 0, receivedBytes: 0, connections: 0, allowed: 0, refused: 0, ...more };
}

/** The laws of stored rules and of what happened on the way out, on whichever store. */
export function describeNetwork(open: () => Store): void {
  describe('rules', () => {
    test('a sandbox that nobody changed has no row; each change raises the revision and tells an event', async () => {
      const store = open();
      const { id } = await makeReady(store);
      expect(await store.sandboxRules.get(id)).toBeUndefined();
      await store.sandboxRules.change(id, change({ mode: 'allowlist', allow: ['example.com'] }));
      const second = await store.sandboxRules.change(id, change({ deny: ['example.org'] }));
      const rules = { ...made, mode: 'allowlist', allow: ['example.com'], deny: ['example.org'] };
      expect(second).toEqual({ rules, revision: 2 });
      expect(await store.sandboxRules.get(id)).toEqual(second);
      const events = await store.events.list({ subject: id, after: 0, limit: 100 });
      expect(events.slice(-2).map(({ type, data }) => [type, data])).toMatchObject([
        ['caisson.sandbox.network', { revision: 1, mode: 'allowlist', allow: ['example.com'], by: 'ada' }],
        ['caisson.sandbox.network', { revision: 2, mode: 'allowlist', deny: ['example.org'], by: 'ada' }],
      ]);
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    });

    test('what changes nothing is no change, whatever revision it names', async () => {
      const store = open();
      const { id } = await makeReady(store);
      await store.sandboxRules.change(id, change({ limits: { totalMiB: 1, connections: 2 } }));
      const again = await store.sandboxRules.change(id, change({ limits: { connections: 2, totalMiB: 1 } }, 0));
      expect(again.revision).toBe(1);
    });

    test('of many who change the same revision one succeeds, and none of those without one is lost', async () => {
      const store = open();
      const { id } = await makeReady(store);
      const guarded = Array.from({ length: 5 }, (_, n) =>
        store.sandboxRules.change(id, change({ allow: [`h${n}.example`] }, 0)),
      );
      expect(await outcomes(guarded)).toEqual({ ok: 1, state_changed: 4 });
      const adding = Array.from({ length: 5 }, (_, n) =>
        store.sandboxRules.change(id, {
          ...change({}),
          apply: (present) => ({ ...present, deny: [...present.deny, `d${n}.example`] }),
        }),
      );
      expect(await outcomes(adding)).toEqual({ ok: 5 });
      const { rules, revision } = (await store.sandboxRules.get(id)) ?? { rules: made, revision: 0 };
      expect([rules.deny.length, revision]).toEqual([5, 6]);
    });

    test('the rules of a destroyed sandbox stay, and cannot be changed', async () => {
      const store = open();
      const sandbox = await makeReady(store);
      await store.sandboxRules.change(sandbox.id, change({ mode: 'off' }));
      await makeDestroyed(store, sandbox);
      const refused = store.sandboxRules.change(sandbox.id, change({ mode: 'open' }));
      await expect(refused).rejects.toMatchObject({ code: 'sandbox_destroyed' });
      expect((await store.sandboxRules.get(sandbox.id))?.rules.mode).toBe('off');
    });

    test('what is made from a sandbox has its rules, also when that is destroyed', async () => {
      const store = open();
      const first = await makeReady(store);
      const from = (sandbox: { id: typeof first.id }) => ({ origin: { sandbox: sandbox.id, snapshot: null } });
      const unchanged = await makeReady(store, from(first));
      expect(await store.sandboxRules.get(unchanged.id)).toBeUndefined();
      await store.sandboxRules.change(first.id, change({ mode: 'off' }));
      await store.sandboxRules.change(first.id, change({ mode: 'allowlist' }));
      await makeDestroyed(store, first);
      const second = await makeReady(store, from(first));
      expect(await store.sandboxRules.get(second.id)).toEqual({ rules: { ...made, mode: 'allowlist' }, revision: 1 });
      await store.sandboxRules.change(second.id, change({ mode: 'open' }));
      expect((await store.sandboxRules.get(first.id))?.rules.mode).toBe('allowlist');
    });

    test("what names another tenant's sandbox as its origin gets nothing of it", async () => {
      const store = open();
      const theirs = await makeReady(store, { owner: { ...ada, tenant: 'other' } });
      await store.sandboxRules.change(theirs.id, change({ allow: ['secret.example'] }));
      const own = await makeReady(store, { origin: { sandbox: theirs.id, snapshot: null } });
      expect(await store.sandboxRules.get(own.id)).toBeUndefined();
    });
  });

  describe('egress', () => {
    test('a record is read as it was written, in order, by verdict and after a position', async () => {
      const { egressLog, egressUsage } = open();
      const [{ id }, other] = [await makeReady(open()), await makeReady(open())];
      const refused = { verdict: 'refused', why: 'not_allowed', suggestion: 'example.org:443', host: 'example.org' };
      const secrets = JSON.stringify(['token']);
      await egressUsage.add([row(id, { address: '192.0.2.1', rule: 'example.com', secrets }), row(other.id)], []);
      await egressUsage.add([row(id, { ...refused, count: 7 })], []);
      const all = await egressLog.list({ sandbox: id, after: 0, limit: 10 });
      expect(all).toMatchObject([
        { host: 'example.com', address: '192.0.2.1', rule: 'example.com', secrets: ['token'], why: null, count: 1 },
        { host: 'example.org', why: 'not_allowed', suggestion: 'example.org:443', secrets: [], count: 7 },
      ]);
      expect(all[0]?.time).toBe('2023-11-14T22:13:20.000Z');
      const [first, last] = [all[0]?.position ?? 0, all[1]?.position ?? 0];
      expect(last).toBeGreaterThan(first);
      expect(await egressLog.end(id)).toBe(last);
      expect(await egressLog.list({ sandbox: id, after: first, limit: 10 })).toEqual(all.slice(1));
      expect(await egressLog.list({ sandbox: id, verdict: 'allowed', after: 0, limit: 10 })).toEqual(all.slice(0, 1));
    });

    test('counters add up by host, and their bytes to a total', async () => {
      const { egressUsage } = open();
      const { id } = await makeReady(open());
      expect(await egressUsage.total(id)).toBe(0);
      const huge = 2 ** 50;
      await egressUsage.add([], [traffic(id, 'a', { sentBytes: 1, allowed: 1 }), traffic(id, 'b', { refused: 3 })]);
      await egressUsage.add([], [traffic(id, 'a', { receivedBytes: huge, connections: 2 })]);
      expect(await egressUsage.total(id)).toBe(huge + 1);
      expect(await egressUsage.list(id)).toEqual([
        { host: 'a', sentBytes: 1, receivedBytes: huge, connections: 2, allowed: 1, refused: 0 },
        { host: 'b', sentBytes: 0, receivedBytes: 0, connections: 0, allowed: 0, refused: 3 },
      ]);
    });

    test('a sandbox has a thousand hosts and the rest together; names that are refused leave room for others', async () => {
      const { egressUsage } = open();
      const { id } = await makeReady(open());
      const refused = Array.from({ length: 700 }, (_, n) => traffic(id, `r${n}`, { refused: 1 }));
      await egressUsage.add([], refused);
      expect(await egressUsage.list(id)).toHaveLength(501);
      const allowed = Array.from({ length: 700 }, (_, n) => traffic(id, `a${n}`, { allowed: 1, sentBytes: 1 }));
      await egressUsage.add([], allowed);
      const hosts = await egressUsage.list(id);
      expect(hosts).toHaveLength(1_000);
      expect(hosts.find(({ host }) => host === '*')).toMatchObject({ refused: 200, allowed: 201, sentBytes: 201 });
      expect(await egressUsage.total(id)).toBe(700);
    }, 120_000);

    test('pruning leaves the newest of one sandbox, and those of others', async () => {
      const { egressLog, egressUsage } = open();
      const [{ id }, other] = [await makeReady(open()), await makeReady(open())];
      await egressUsage.add([row(other.id), ...Array.from({ length: 1_200 }, (_, n) => row(id, { port: n }))], []);
      await egressLog.prune(id, 50);
      await egressLog.prune(other.id, 50);
      const left = await egressLog.list({ sandbox: id, after: 0, limit: 200 });
      expect(left.map(({ port }) => port)).toEqual(Array.from({ length: 50 }, (_, n) => 1_150 + n));
      expect(await egressLog.list({ sandbox: other.id, after: 0, limit: 10 })).toHaveLength(1);
    });
  });
}
