import { CaissonError, type ErrorCode } from '@caisson/contract';
import { expect, test } from 'vitest';
import { retryAfterSeconds } from './answer.ts';
import { mayRepeat, pause, pauseMs, withRetries } from './retry.ts';

async function attempts(code: ErrorCode, retries: number, context = {}) {
  const pauses: number[] = [];
  let count = 0;
  const run = async () => {
    count += 1;
    throw new CaissonError(code, undefined, { context });
  };
  const wait = async (ms: number) => void pauses.push(ms);
  await expect(withRetries(run, { retries, random: () => 0.999, pause: wait })).rejects.toMatchObject({ code });
  return { count, pauses };
}

test('a failure that passes is repeated so many times and no more', async () => {
  expect((await attempts('server_unreachable', 3)).count).toBe(4);
  expect((await attempts('server_unreachable', 0)).count).toBe(1);
});

test.each<ErrorCode>(['sandbox_not_found', 'sandbox_exists', 'max_sandboxes_reached', 'internal', 'driver_timeout'])(
  '%s is told at once',
  async (code) => {
    expect((await attempts(code, 3)).count).toBe(1);
  },
);

test('pauses double', async () => {
  const { pauses } = await attempts('shutting_down', 3);
  expect(pauses.map((ms) => Math.round(ms / 100))).toEqual([2, 4, 8]);
});

test('pauses are spread and bounded', () => {
  expect(pauseMs(0, () => 0)).toBe(100);
  expect(pauseMs(1000, () => 0.999)).toBeLessThanOrEqual(5000);
});

test('what the server asks for is honoured, unless it is longer than a caller should wait', async () => {
  expect((await attempts('rate_limited', 1, { retryAfterSeconds: 3 })).pauses).toEqual([3000]);
  expect((await attempts('rate_limited', 1, { retryAfterSeconds: 300 })).count).toBe(1);
});

test('reading and keyed routes may be repeated, others not', () => {
  expect(mayRepeat({ method: 'GET', scope: 'read' })).toBe(true);
  expect(mayRepeat({ method: 'POST', scope: 'read' })).toBe(true);
  expect(mayRepeat({ method: 'POST', scope: 'use', idempotencyKey: true })).toBe(true);
  expect(mayRepeat({ method: 'POST', scope: 'use', repeatable: true })).toBe(true);
  expect(mayRepeat({ method: 'POST', scope: 'use' })).toBe(false);
  expect(mayRepeat({ method: 'DELETE', scope: 'use' })).toBe(false);
});

test('an abort ends a pause with its reason', async () => {
  const controller = new AbortController();
  const waiting = pause(60_000, controller.signal);
  controller.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

test.each([
  [null, undefined],
  ['7', 7],
  ['soon', undefined],
  ['Thu, 01 Jan 1970 00:00:10 GMT', 9],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
])('Retry-After %j is %j seconds', (header, seconds) => {
  expect(retryAfterSeconds(header, 1000)).toBe(seconds);
});
