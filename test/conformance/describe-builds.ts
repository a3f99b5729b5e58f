import { buildJobKind, type Id, newId } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import { buildError } from '../../packages/server/src/builds/build-error.ts';
import type { HeldBuild } from '../../packages/server/src/store/builds.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { digestOf, failing, newPlan } from '../builds/scripted-builder.ts';
import { ada, newAttempt, put } from './store-fixtures.ts';

/** The laws of builds and their logs, on whichever store. Each test has a kind of job and a tenant of its own. */
export function describeBuilds(open: () => Store): void {
  describe('builds', () => {
    const leaseMs = 10_000;

    function world() {
      const store = open();
      const kind = `${buildJobKind}-${newId('job')}`;
      const owner = { ...ada, tenant: `t${newId('request').slice(-10)}` };
      const ask = (key = newId('request') as string, uniqueKey = key, max = 50) => {
        const id = newId('build');
        const { plan, planDigest } = newPlan();
        return store.builds.request({ id, owner, key, plan, planDigest }, { kind, payload: { id }, uniqueKey }, max);
      };
      const take = async (worker = 'w', now = Date.now()): Promise<HeldBuild> => {
        const job = await store.jobs.claim([kind], worker, leaseMs, now);
        if (!job) throw new Error('nothing to claim');
        const build = (job.payload as { id: Id<'build'> }).id;
        const held = { build, job, worker };
        await store.builds.begin(held, 'native');
        return held;
      };
      return { store, kind, owner, ask, take };
    }

    test('asking for the same many times at once begins one', async () => {
      const { ask, store, owner } = world();
      const key = newId('request');
      const asked = await Promise.all(Array.from({ length: 8 }, () => ask(key)));
      expect(new Set(asked.map(({ id }) => id)).size).toBe(1);
      expect(await store.builds.list({ ...owner, limit: 10 })).toHaveLength(1);
    });

    test('one that ended makes room for another, and its image is found by its key', async () => {
      const { ask, take, store } = world();
      const key = newId('request');
      const first = await ask(key);
      expect(await store.builds.imageOf(key)).toBeUndefined();
      expect(await store.builds.succeed(await take(), digestOf('a'), 'materials')).toBe(true);
      expect(await store.builds.imageOf(key)).toEqual({ build: first.id, image: digestOf('a') });
      expect(await store.builds.detail(first.id)).toMatchObject({ state: 'succeeded', materials: 'materials' });
      expect((await ask(key)).id).not.toBe(first.id);
    });

    test('a tenant has only so many that have not ended', async () => {
      const { ask } = world();
      await ask(undefined, undefined, 2);
      await ask(undefined, undefined, 2);
      await expect(ask(undefined, undefined, 2)).rejects.toMatchObject({
        code: 'build_queue_full',
        context: { underWay: 2, max: 2 },
      });
    });

    test('a failure that can heal is queued again with its reason, one that cannot is the end', async () => {
      const { ask, take, store } = world();
      const { id } = await ask();
      const held = await take();
      const error = buildError(failing());
      expect(await store.builds.fail(held, error, true)).toBe('queued');
      expect(await store.builds.get(id)).toMatchObject({ state: 'queued', tries: 1, error, endedAt: null });
      const again = await take('w', Date.now() + 60_000);
      expect(await store.builds.fail(again, error, false, Date.now() + 60_000)).toBe('failed');
      expect(await store.builds.get(id)).toMatchObject({ state: 'failed', tries: 2, error });
    });

    test('a worker whose lease is over is not believed', async () => {
      const { ask, take, store } = world();
      const { id } = await ask();
      const slow = await take('slow');
      const later = Date.now() + 2 * leaseMs;
      const quick = await take('quick', later);
      expect(await store.builds.succeed(slow, digestOf('a'), null, later)).toBe(false);
      expect(await store.builds.fail(slow, buildError(failing()), false, later)).toBeUndefined();
      expect(await store.builds.succeed(quick, digestOf('b'), null, later)).toBe(true);
      expect(await store.builds.get(id)).toMatchObject({ state: 'succeeded', image: digestOf('b') });
    });

    test('one that is cancelled stays so, whatever its worker says, and its job runs no more', async () => {
      const { ask, take, store, kind } = world();
      const { id } = await ask();
      const held = await take();
      const why = { ...buildError(failing()), code: 'build_cancelled' };
      expect(await store.builds.cancel(id, why)).toBe(true);
      expect(await store.builds.cancel(id, why)).toBe(false);
      expect(await store.builds.succeed(held, digestOf('a'), null)).toBe(false);
      expect(await store.builds.get(id)).toMatchObject({ state: 'cancelled', error: { code: 'build_cancelled' } });
      expect(await store.jobs.claim([kind], 'w', leaseMs, Date.now() + 60_000)).toBeUndefined();
    });

    test('one whose last worker died is told as failed', async () => {
      const { store, owner, kind } = world();
      const id = newId('build');
      const { plan, planDigest } = newPlan();
      const job = { kind, payload: {}, maxTries: 1, runAt: Date.now() - 120_000 };
      await store.builds.request({ id, owner, key: id, plan, planDigest }, job, 9);
      await store.jobs.claim([kind], 'dies', 1_000, Date.now() - 60_000);
      expect(await store.jobs.claim([kind], 'w', leaseMs)).toBeUndefined();
      expect(await store.builds.buryDead()).toContain(id);
      expect(await store.builds.get(id)).toMatchObject({ state: 'failed', error: { code: 'interrupted' } });
    });

    test('it is awaited by sandboxes whose attempt runs', async () => {
      const { ask, store } = world();
      const { id } = await ask();
      const sandbox = await put(store);
      await store.attempts.learn(sandbox.attempt ?? '', { build: id });
      expect(await store.builds.isAwaited(id, newId('sandbox'))).toBe(true);
      expect(await store.builds.isAwaited(id, sandbox.id)).toBe(false);
    });

    test('an attempt keeps what it learns, for one that is made of the same', async () => {
      const { store } = world();
      const sandbox = await put(store);
      const attempt = sandbox.attempt ?? newAttempt().id;
      const { plan, planDigest } = newPlan();
      const build = newId('build');
      await store.attempts.learn(attempt, { plan, planDigest, sources: { commit: 'c', inputs: { a: 'b' } } });
      await store.attempts.learn(attempt, { build, fromImage: digestOf('a') });
      const made = { plan, planDigest, build, sources: { commit: 'c', inputs: { a: 'b' } } };
      expect(await store.attempts.get(attempt)).toMatchObject({ ...made, image: digestOf('a') });
      expect(await store.attempts.made(sandbox.id, attempt)).toEqual({ ...made, fromImage: digestOf('a') });
    });

    test('a log is read in order from any position, and a part of it can be left out', async () => {
      const { store } = world();
      const build = newId('build');
      const item = (text: string) => ({ time: new Date(0).toISOString(), kind: 'output', step: 's', text }) as const;
      const parts = Array.from({ length: 6 }, (_, n) => ({ position: n + 1, bytes: 1, item: item(String(n + 1)) }));
      await store.buildLog.append(build, parts);
      await store.buildLog.append(build, [{ position: 2, bytes: 0, item: item('gap') }]);
      await store.buildLog.leaveOut(build, 2, 5);
      expect((await store.buildLog.list(build, 1, 2)).map(({ text }) => text)).toEqual(['gap', '5']);
      expect(await store.buildLog.last(build)).toBe(6);
    });

    test('old logs go, and old records but for those that name an image', async () => {
      const { ask, take, store } = world();
      const done = await ask();
      await store.builds.succeed(await take(), digestOf('a'), null);
      const failed = await ask();
      await store.builds.fail(await take(), buildError(failing()), false);
      const waiting = await ask();
      for (const { id } of [done, failed, waiting])
        await store.buildLog.append(id, [
          { position: 1, bytes: 1, item: { time: '', kind: 'note', step: null, text: '' } },
        ]);
      await store.buildLog.prune(Date.now() + 1_000);
      expect(await store.builds.get(done.id)).toMatchObject({ image: digestOf('a') });
      expect(await store.builds.get(failed.id)).toBeUndefined();
      const kept = await Promise.all([done, failed, waiting].map(({ id }) => store.buildLog.last(id)));
      expect(kept).toEqual([0, 0, 1]);
    });
  });
}
