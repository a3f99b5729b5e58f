import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaissonEvent } from '@caisson/contract';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EventSink, NotDelivered } from '../../packages/server/src/events/sink.ts';
import { type PumpOptions, SinkPump } from '../../packages/server/src/events/sink-pump.ts';
import { openStore, type Store } from '../../packages/server/src/store/store.ts';
import { put } from '../conformance/store-fixtures.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-pump-'));
let store: Store;
let names = 0;
beforeAll(async () => {
  store = await openStore({ sqlite: join(folder, 'caisson.db') });
  await store.hosts.seen('here', '1');
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** A sink in memory that refuses what a test says. */
class MemorySink implements EventSink {
  readonly parallel = 8;
  readonly taken: CaissonEvent[] = [];
  tries = 0;
  refuses: (event: CaissonEvent, tries: number) => boolean = () => false;

  async deliver(event: CaissonEvent, signal: AbortSignal): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) throw new NotDelivered('over');
    this.tries += 1;
    if (this.refuses(event, this.tries)) throw new NotDelivered(`no ${event.sequence}`);
    this.taken.push(event);
  }

  async close(): Promise<void> {}
}

interface Running {
  readonly pump: SinkPump;
  readonly sink: MemorySink;
  stop(): Promise<void>;
}

function pumpOf(sink: MemorySink, name: string, options: Partial<PumpOptions> = {}): Running {
  const holder = `holder-${Math.random()}`;
  const pump = new SinkPump({
    ...{ name, sink, store, holder, from: 0, filter: {}, maxTries: 5, retryMs: () => 5, ...options },
  });
  const stopListening = store.onEvent(({ position }) => pump.heard(position));
  pump.start();
  const stop = async () => {
    stopListening();
    await pump.stop();
  };
  return { pump, sink, stop };
}

/** A sandbox with so many events after its first. */
async function sandboxWith(events: number) {
  const { id } = await put(store);
  for (let n = 0; n < events; n += 1) await store.sandboxes.note(id, 'caisson.sandbox.progress', { line: `${n}` });
  return id;
}

const newName = () => {
  names += 1;
  return `sink-${names}`;
};
const of = (sink: MemorySink, subject: string) => sink.taken.filter((event) => event.subject === subject);
const sequences = (events: readonly CaissonEvent[]) => events.map(({ sequence }) => sequence);
const settled = async (name: string) => (await store.sinks.states([name])).get(name);
const until = (condition: () => boolean | Promise<boolean>) =>
  expect.poll(condition, { timeout: 30_000, interval: 5 }).toBe(true);

test('what is in the log and what comes later is delivered once, in order for each subject', async () => {
  const from = await store.events.end();
  const before = await sandboxWith(3);
  const running = pumpOf(new MemorySink(), newName(), { from });
  const after = await sandboxWith(3);
  await until(() => running.sink.taken.length >= 8);
  await running.stop();
  for (const id of [before, after]) expect(sequences(of(running.sink, id))).toEqual([1, 2, 3, 4]);
});

test('a failing delivery holds up its own sandbox, not the others, and is tried again', async () => {
  const from = await store.events.end();
  const sink = new MemorySink();
  const [bad, good] = [await sandboxWith(5), await sandboxWith(5)];
  let isBroken = true;
  sink.refuses = (event) => isBroken && event.subject === bad && event.sequence === 3;
  const name = newName();
  const running = pumpOf(sink, name, { from, maxTries: 1e9 });
  await until(() => of(sink, good).length === 6);
  await until(async () => (await settled(name))?.held === 1);
  expect(sequences(of(sink, bad))).toEqual([1, 2]);
  expect(await settled(name)).toMatchObject({ error: 'no 3' });
  isBroken = false;
  await until(() => of(sink, bad).length === 6);
  await until(async () => (await settled(name))?.held === 0);
  await running.stop();
  expect(sequences(of(sink, bad))).toEqual([1, 2, 3, 4, 5, 6]);
});

test('after so many tries an event is given up with its reason, and its sandbox goes on', async () => {
  const from = await store.events.end();
  const sink = new MemorySink();
  const id = await sandboxWith(4);
  sink.refuses = (event) => event.sequence === 2;
  const name = newName();
  const running = pumpOf(sink, name, { from, maxTries: 3 });
  await until(() => of(sink, id).length === 4);
  await until(async () => (await settled(name))?.held === 0);
  await running.stop();
  expect(sequences(of(sink, id))).toEqual([1, 3, 4, 5]);
  const [letter, ...more] = await store.sinks.deadLetters(name, 10);
  expect(letter).toMatchObject({ subject: id, tries: 3, error: 'no 2', type: 'caisson.sandbox.progress' });
  expect(more).toEqual([]);
});

test('a sink that another holder took is left to it', async () => {
  const name = newName();
  const first = pumpOf(new MemorySink(), name);
  await until(() => first.sink.taken.length > 0);
  const second = pumpOf(new MemorySink(), name, { from: 0 });
  await sandboxWith(1);
  const end = await store.events.end();
  await until(async () => (await settled(name))?.position === end);
  await until(() => second.sink.taken.some(({ position }) => position === end));
  await Promise.all([first.stop(), second.stop()]);
  expect((await settled(name))?.position).toBe(end);
});

test('where the filter lets nothing through the position goes on all the same', async () => {
  const name = newName();
  const running = pumpOf(new MemorySink(), name, { filter: { tenant: 'nobody' } });
  await sandboxWith(2);
  const end = await store.events.end();
  await until(async () => ((await settled(name))?.position ?? 0) >= end);
  await running.stop();
  expect(running.sink.taken).toEqual([]);
});

test('whatever fails, and wherever it is cut off, every event arrives and each sandbox in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 3 }),
      async (sandboxes, failures, cuts) => {
        const from = await store.events.end();
        const name = newName();
        const ids: string[] = [];
        const made = (async () => {
          for (const events of sandboxes) ids.push(await sandboxWith(events));
          return store.events.end();
        })();
        let end = Number.POSITIVE_INFINITY;
        void made.then((position) => {
          end = position;
        });
        const isDone = async () => {
          const state = await settled(name);
          return state?.held === 0 && state.position >= end;
        };
        const taken: CaissonEvent[] = [];
        const run = () => {
          const sink = new MemorySink();
          // In the end the other side takes everything.
          sink.refuses = (_, tries) => failures[tries] ?? false;
          return pumpOf(sink, name, { from, maxTries: 1e9, retryMs: () => 1 });
        };
        for (const cut of cuts) {
          const { sink, stop } = run();
          await until(async () => sink.tries >= cut || (await isDone()));
          await stop();
          taken.push(...sink.taken);
        }
        const last = run();
        await made;
        await until(isDone);
        await last.stop();
        taken.push(...last.sink.taken);
        for (const [n, id] of ids.entries()) {
          const firsts = [...new Set(sequences(taken.filter(({ subject }) => subject === id)))];
          expect(firsts).toEqual(Array.from({ length: (sandboxes[n] ?? 0) + 1 }, (_, at) => at + 1));
        }
      },
    ),
    { numRuns: 8 },
  );
});
