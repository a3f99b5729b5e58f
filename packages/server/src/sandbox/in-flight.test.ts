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
