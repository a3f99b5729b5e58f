import { maxWebhooks, newId } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../packages/server/src/store/store.ts';
import type { NewWebhook } from '../../packages/server/src/store/webhooks.ts';
import { makeReady, outcomes, put } from './store-fixtures.ts';

/** What is kept of webhooks and of how far sinks have come, on whichever store. */
export function describeWebhooks(open: () => Store): void {
  describe('webhooks and sinks', () => {
    const newWebhook = (tenant = 'acme'): NewWebhook => ({
      ...{ id: newId('webhook'), tenant, project: 'web', principal: 'ada', url: 'https://hooks.example.com/a' },
      ...{ description: null, types: ['caisson.sandbox.ready'], labels: { team: 'a' }, sealed: 'sealed' },
    });
    const stateOf = async (name: string) => (await open().sinks.states([name])).get(name);
    const held = (subject: string, sequence = 3) => ({ subject, sequence, tries: 1, retryAt: 5, error: 'no' });

    test('a webhook is as it was added, begins at its position, and leaves nothing when it is removed', async () => {
      const { webhooks, sinks } = open();
      const added = await webhooks.add(newWebhook(), 7);
      expect(await webhooks.get(added.id)).toEqual(added);
      expect(await webhooks.list({ tenant: 'acme', project: 'web' })).toContainEqual(added);
      expect(await webhooks.list({ tenant: 'acme', project: 'other' })).toEqual([]);
      expect((await sinks.take(added.id, 'me', 0)).position).toBe(7);
      await sinks.hold(added.id, 'me', held('s'));
      await webhooks.remove(added.id);
      expect(await webhooks.get(added.id)).toBeUndefined();
      expect(await sinks.take(added.id, 'me', 0)).toEqual({ position: 0, held: [] });
    });

    test('a tenant has so many webhooks and no more, however many are added at once', async () => {
      const tenant = 'many';
      const adds = Array.from({ length: maxWebhooks + 5 }, () => open().webhooks.add(newWebhook(tenant), 0));
      expect(await outcomes(adds)).toEqual({ ok: maxWebhooks, quota_exceeded: 5 });
    });

    test('of two rotations at once one is refused', async () => {
      const { webhooks } = open();
      const { id, sealed } = await webhooks.add(newWebhook(), 0);
      const rotate = (next: string) => webhooks.rotate(id, next, { sealed, until: 99 });
      const both = await Promise.all([rotate('one'), rotate('two')]);
      expect(both.filter((one) => one !== undefined)).toHaveLength(1);
      expect((await webhooks.get(id))?.old).toEqual({ sealed, until: 99 });
    });

    test('only the newest holder of a sink writes about it', async () => {
      const { sinks } = open();
      const name = newId('webhook');
      await sinks.take(name, 'old', 3);
      expect(await sinks.advance(name, 'old', 5)).toBe(true);
      expect(await sinks.take(name, 'new', 0)).toEqual({ position: 5, held: [] });
      expect(await sinks.advance(name, 'old', 9)).toBe(false);
      expect(await sinks.hold(name, 'old', held('s'))).toBe(false);
      expect(await stateOf(name)).toMatchObject({ position: 5, held: 0 });
    });

    test('what is held is found again, goes on with the next when it is given up, and is released', async () => {
      const { sinks, events } = open();
      const { id } = await makeReady(open());
      const [first] = await events.ofSubject({ subject: id }, 1, 1);
      if (!first) throw new Error('no event');
      const name = newId('webhook');
      await sinks.take(name, 'me', 0);
      await sinks.hold(name, 'me', held(id, 1));
      expect((await sinks.take(name, 'me', 0)).held).toEqual([held(id, 1)]);
      await sinks.giveUp(name, 'me', first, { ...held(id, 1), tries: 9 });
      expect((await sinks.take(name, 'me', 0)).held).toEqual([{ ...held(id, 2), tries: 0 }]);
      expect(await sinks.deadLetters(name, 10)).toEqual([
        expect.objectContaining({ event: first.id, position: first.position, tries: 9, error: 'no' }),
      ]);
      expect(await stateOf(name)).toMatchObject({ held: 1, deadLetters: 1, error: 'no' });
      await sinks.release(name, 'me', id);
      expect(await stateOf(name)).toMatchObject({ held: 0, error: null });
    });

    test('a sink that is wound back is nobody’s until it is taken again, and holds nothing', async () => {
      const { sinks } = open();
      const name = newId('webhook');
      await sinks.take(name, 'me', 50);
      await sinks.hold(name, 'me', held('s'));
      await sinks.rewind(name, 10);
      expect(await sinks.advance(name, 'me', 60)).toBe(false);
      expect(await sinks.take(name, 'me', 0)).toEqual({ position: 10, held: [] });
    });

    test('events are found by type and by the labels of their sandbox', async () => {
      const { events } = open();
      const after = await events.end();
      const labelled = await makeReady(open(), { labels: { team: 'x', tier: 'y' } });
      await put(open(), { labels: { team: 'x' } });
      const labels = [['team', 'x'] as const, ['tier', 'y'] as const];
      const found = await events.list({ after, limit: 50, labels, types: ['caisson.sandbox.ready'] });
      expect(found.map(({ subject, type }) => [subject, type])).toEqual([[labelled.id, 'caisson.sandbox.ready']]);
      expect((await events.list({ after, limit: 50, labels: [['team', 'x']] })).length).toBe(4);
      const tail = await events.ofSubject({ subject: labelled.id }, 2, 50);
      expect(tail.map(({ sequence }) => sequence)).toEqual([2, 3]);
    });
  });
}
