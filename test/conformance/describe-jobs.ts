import { newId } from '@caisson/contract';
import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../packages/server/src/store/backoff.ts';
import { longestBackoffMs } from '../../packages/server/src/store/jobs.ts';
import type { Store } from '../../packages/server/src/store/store.ts';

/** The laws of leased jobs, on whichever store. Each test has a kind of job of its own. */
export function describeJobs(open: () => Store): void {
  describe('jobs', () => {
    const kind = () => `kind-${newId('job')}`;
    const leaseMs = 10_000;

    test('a job is claimed once, by one of many workers', async () => {
      const { jobs } = open();
      const k = kind();
      for (let n = 0; n < 40; n += 1) await jobs.enqueue({ kind: k, payload: { n } });
      const work = async (owner: string) => {
        const mine: unknown[] = [];
        for (let job = await jobs.claim([k], owner, leaseMs); job; job = await jobs.claim([k], owner, leaseMs))
          mine.push(job.payload);
        return mine;
      };
      const all = await Promise.all(Array.from({ length: 8 }, (_, n) => work(`w${n}`)));
      const numbers = all.flat().map((payload) => (payload as { n: number }).n);
      expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n));
    });

    test('the more urgent goes first, then the older; what is not due waits', async () => {
      const { jobs } = open();
      const k = kind();
      await jobs.enqueue({ kind: k, payload: 'later', runAt: Date.now() + 60_000, priority: 9 });
      await jobs.enqueue({ kind: k, payload: 'first', runAt: Date.now() - 20 });
      await jobs.enqueue({ kind: k, payload: 'second', runAt: Date.now() - 10 });
      await jobs.enqueue({ kind: k, payload: 'urgent', priority: 5 });
      const order: unknown[] = [];
      for (let job = await jobs.claim([k], 'w', leaseMs); job; job = await jobs.claim([k], 'w', leaseMs))
        order.push(job.payload);
      expect(order).toEqual(['urgent', 'first', 'second']);
    });

    test('a heartbeat keeps the lease; without one another worker takes over and the first is not believed', async () => {
      const { jobs } = open();
      const k = kind();
      await jobs.enqueue({ kind: k, payload: 1 });
      const now = Date.now();
      const job = await jobs.claim([k], 'slow', 1_000, now);
      if (!job) throw new Error('nothing to claim');
      expect(await jobs.heartbeat(job.id, 'slow', 1_000, now + 900)).toBe(true);
      expect(await jobs.claim([k], 'other', 1_000, now + 1_500)).toBeUndefined();
      const taken = await jobs.claim([k], 'other', 1_000, now + 2_000);
      expect(taken).toMatchObject({ id: job.id, tries: 2 });
      expect(await jobs.heartbeat(job.id, 'slow', 1_000, now + 2_100)).toBe(false);
      expect(await jobs.succeed(job.id, 'slow', now + 2_100)).toBe(false);
      expect(await jobs.succeed(job.id, 'other', now + 2_200)).toBe(true);
      expect(await jobs.get(job.id)).toMatchObject({ state: 'succeeded', leaseUntil: null });
    });

    test('a try that fails is repeated later, and after the last one the job is dead with its error', async () => {
      const { jobs } = open();
      const k = kind();
      const { id } = await jobs.enqueue({ kind: k, payload: 1, maxTries: 2 });
      await jobs.claim([k], 'w', leaseMs);
      await jobs.fail(id, 'w', 'first');
      const waiting = await jobs.get(id);
      expect(waiting).toMatchObject({ state: 'queued', error: 'first', tries: 1 });
      expect(waiting?.runAt).toBeGreaterThan(Date.now());
      expect(await jobs.claim([k], 'w', leaseMs)).toBeUndefined();
      const later = (waiting?.runAt ?? 0) + 1;
      await jobs.claim([k], 'w', leaseMs, later);
      await jobs.fail(id, 'w', 'second', {}, later);
      expect(await jobs.get(id)).toMatchObject({ state: 'dead', error: 'second', tries: 2 });
      expect(await jobs.claim([k], 'w', leaseMs, later + 1e9)).toBeUndefined();
    });

    test('what cannot heal is not tried again', async () => {
      const { jobs } = open();
      const k = kind();
      const { id } = await jobs.enqueue({ kind: k, payload: 1 });
      await jobs.claim([k], 'w', leaseMs);
      await jobs.fail(id, 'w', 'no such package', { retry: false });
      expect(await jobs.get(id)).toMatchObject({ state: 'dead', tries: 1 });
    });

    test('a worker that dies on every try ends in the dead letters too', async () => {
      const { jobs } = open();
      const k = kind();
      const { id } = await jobs.enqueue({ kind: k, payload: 1, maxTries: 2 });
      let now = Date.now();
      for (let n = 0; n < 2; n += 1) {
        expect(await jobs.claim([k], 'w', 100, now)).toBeDefined();
        now += 1_000;
      }
      expect(await jobs.claim([k], 'w', 100, now)).toBeUndefined();
      expect(await jobs.get(id)).toMatchObject({ state: 'dead', error: 'its worker stopped answering' });
    });

    test('a cancelled job never runs, and one that runs learns of it', async () => {
      const { jobs } = open();
      const k = kind();
      const queued = await jobs.enqueue({ kind: k, payload: 1 });
      expect(await jobs.cancel(queued.id)).toBe(true);
      expect(await jobs.claim([k], 'w', leaseMs)).toBeUndefined();
      const running = await jobs.enqueue({ kind: k, payload: 2 });
      await jobs.claim([k], 'w', leaseMs);
      expect(await jobs.cancel(running.id)).toBe(true);
      expect(await jobs.heartbeat(running.id, 'w', leaseMs)).toBe(false);
      expect(await jobs.cancel(running.id)).toBe(false);
      expect(await jobs.get(running.id)).toMatchObject({ state: 'cancelled' });
    });

    test('of jobs with one unique key one is open at a time', async () => {
      const { jobs } = open();
      const k = kind();
      const ask = () => jobs.enqueue({ kind: k, payload: 1, uniqueKey: `u-${k}` });
      const ids = (await Promise.all(Array.from({ length: 20 }, ask))).map((job) => job.id);
      expect(new Set(ids).size).toBe(1);
      const job = await jobs.claim([k], 'w', leaseMs);
      expect((await ask()).id).toBe(ids[0]);
      await jobs.succeed(job?.id ?? '', 'w');
      expect((await ask()).id).not.toBe(ids[0]);
    });
  });

  test('pauses between tries double, stay within their bounds, and are spread', () => {
    expect(backoffMs(1, longestBackoffMs, 0)).toBe(750);
    expect(backoffMs(1, longestBackoffMs, 1)).toBe(1_250);
    expect(backoffMs(4, longestBackoffMs, 0.5)).toBe(8_000);
    expect(backoffMs(60, longestBackoffMs, 0.5)).toBe(300_000);
  });
}
