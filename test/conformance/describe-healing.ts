import { newId, replay } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../packages/server/src/store/store.ts';
import { ada, makeDestroyed, makeReady, newAttempt, newSandbox } from './store-fixtures.ts';

/** Records that are made again, and repairs of what has none, on whichever store. */
export function describeHealing(open: () => Store): void {
  describe('healing', () => {
    const rules = { mode: 'allowlist', allow: ['example.com'], deny: [], secrets: [] } as never;
    const found = (change: object = {}) => ({
      ...newSandbox({ owner: { ...ada, tenant: newId('request') } }),
      incarnation: 3,
      state: 'ready' as const,
      createdAt: 1_000,
      attempt: newAttempt(),
      image: { digest: 'sha256:1', env: { A: 'b' } },
      rules: null,
      ...change,
    });

    test('an adopted sandbox is ready from its first event on, with its attempt, its place and its rules', async () => {
      const store = open();
      const one = found({ rules });
      const { sandbox, event } = await store.adoptions.adopt(one);
      expect(sandbox).toMatchObject({ id: one.id, state: 'ready', incarnation: 3, attempt: one.attempt.id });
      expect(sandbox.createdAt).toBe(new Date(1_000).toISOString());
      expect(event).toMatchObject({ type: 'caisson.sandbox.ready', sequence: 1, data: { from: null, to: 'ready' } });
      expect(replay(await store.events.list({ subject: one.id, after: 0, limit: 5 }))).toEqual({
        state: 'ready',
        action: null,
      });
      expect(await store.attempts.get(one.attempt.id)).toMatchObject({ state: 'succeeded', image: 'sha256:1' });
      expect(await store.attempts.image(one.id)).toEqual(one.image);
      expect(await store.tenants.liveSandboxes(one.owner.tenant)).toBe(1);
      expect((await store.sandboxRules.get(one.id))?.rules).toEqual(rules);
      await makeDestroyed(store, sandbox);
      expect(await store.tenants.liveSandboxes(one.owner.tenant)).toBe(0);
    });

    test('one whose id, name or slot is taken is refused, and leaves nothing', async () => {
      const store = open();
      const slot = newId('request');
      const { owner } = found();
      const present = await makeReady(store, { owner, slot, name: 'x' });
      expect(await store.adoptions.slotOf(present.id)).toBe(slot);
      for (const change of [{ id: present.id }, { owner, slot }, { owner, name: 'x' }])
        await expect(store.adoptions.adopt(found(change))).rejects.toThrow();
      expect(await store.tenants.liveSandboxes(owner.tenant)).toBe(1);
      expect(await store.sandboxes.get(present.id)).toEqual(present);
    });

    test('one that its tenant cannot pay for is refused', async () => {
      const store = open();
      const one = found();
      await store.quotas.set(one.owner.tenant, null, { sandboxes: 0 });
      await expect(store.adoptions.adopt(one)).rejects.toMatchObject({ code: 'quota_exceeded' });
      expect(await store.sandboxes.get(one.id)).toBeUndefined();
    });

    test('the keys of all in a state come in pages, by id', async () => {
      const store = open();
      const made = [await makeReady(store), await makeReady(store), await makeReady(store)];
      const first = made.map(({ id }) => id).sort()[0] ?? '';
      const pageAfter = (id: string) => store.sandboxes.keysInState('ready', id, 2);
      const pages = [await pageAfter(''), await pageAfter(first)];
      for (const page of pages) expect(page.length).toBe(2);
      const [one] = await store.sandboxes.keysInState('ready', first.slice(0, -1), 1);
      expect(one).toMatchObject({ incarnation: 1, driver: 'fake' });
      expect(pages[1]?.every(({ id }) => id > first)).toBe(true);
    });

    test('repairs of what has no record are events of the installation, in their order', async () => {
      const store = open();
      const after = await store.events.end();
      const repair = { kind: 'unowned', found: 'x', did: 'reported', driver: 'fake' } as const;
      await Promise.all(['a', 'b', 'c'].map((name) => store.hostRepairs.tell({ ...repair, name })));
      const told = await store.events.list({ types: ['caisson.host.repair'], after, limit: 5 });
      expect(told.map(({ subject }) => subject)).toEqual(Array(3).fill(store.installation));
      const [first = 0] = told.map(({ sequence }) => sequence);
      expect(told.map(({ sequence }) => sequence)).toEqual([first, first + 1, first + 2]);
    });
  });
}
