import { expect, test } from 'vitest';
import { until } from './until.ts';

test('who waits gets what the work gives, or what it fails with', async () => {
  const { signal } = new AbortController();
  expect(await until(signal, Promise.resolve(7))).toBe(7);
  await expect(until(signal, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});

test('who gives up goes at once with its reason, and the work goes on', async () => {
  const gone = new AbortController();
  let finish: (value: string) => void = () => {};
  const work = new Promise<string>((resolve) => {
    finish = resolve;
  });
  const waiting = until(gone.signal, work);
  gone.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  finish('done');
  expect(await work).toBe('done');
  expect(() => until(gone.signal, work)).toThrow('enough');
});
