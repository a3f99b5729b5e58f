import { newId } from '@caisson/contract';
import { expect, test } from 'vitest';
import { InFlight } from './in-flight.ts';

const never = new AbortController().signal;

test('nothing going on is drained at once', async () => {
  expect(await new InFlight().drained(newId('sandbox'), 0, never)).toBe(true);
});

test('the last one that ends is told, of this sandbox and no other', async () => {
  const flight = new InFlight();
  const [id, other] = [newId('sandbox'), newId('sandbox')];
  const ends = [flight.begin(id), flight.begin(id)];
  flight.begin(other);
  const drained = flight.drained(id, 60_000, never);
  ends[0]?.();
  ends[0]?.();
  expect(flight.count(id)).toBe(1);
  ends[1]?.();
  expect(await drained).toBe(true);
  expect([flight.count(id), flight.count(other)]).toEqual([0, 1]);
});

test('what takes longer than it may is not waited for', async () => {
  const flight = new InFlight();
  const id = newId('sandbox');
  const end = flight.begin(id);
  expect(await flight.drained(id, 10, never)).toBe(false);
  const stop = new AbortController();
  const waiting = flight.drained(id, 60_000, stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  end();
  expect(await flight.drained(id, 0, never)).toBe(true);
});

test('what would begin is held off until the end of a task, also of one that fails', async () => {
  const flight = new InFlight();
  const [id, other] = [newId('sandbox'), newId('sandbox')];
  const fails: ((error: Error) => void)[] = [];
  const tasks = [0, 1].map(() => flight.holdOff(id, () => new Promise<void>((_, reject) => fails.push(reject))));
  for (const task of tasks) task.catch(() => {});
  const entering = flight.enter(id);
  await flight.enter(other);
  expect([flight.count(id), flight.count(other)]).toEqual([0, 1]);
  fails[1]?.(new Error('the second'));
  await expect(tasks[1]).rejects.toThrow('the second');
  await new Promise((resolve) => setImmediate(resolve));
  expect(flight.count(id)).toBe(0);
  fails[0]?.(new Error('the first'));
  await expect(tasks[0]).rejects.toThrow('the first');
  (await entering)();
  (await flight.enter(id))();
  expect(flight.count(id)).toBe(0);
});
