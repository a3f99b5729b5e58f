import { type CaissonEvent, newId } from '@caisson/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type EventSink, NotDelivered } from '../../packages/server/src/events/sink.ts';

/** A sink and its other side. */
export interface SinkUnderTest {
  readonly sink: EventSink;
  /** What the other side has, in the order in which it came. */
  received(): Promise<CaissonEvent[]>;
  /** From here on the other side takes nothing. */
  break(): Promise<void>;
  heal(): Promise<void>;
  close(): Promise<void>;
}

export function sampleEvent(subject: string, sequence: number, data: Record<string, unknown> = {}): CaissonEvent {
  return {
    ...{ specversion: '1.0', datacontenttype: 'application/json', type: 'caisson.sandbox.progress' },
    ...{ id: newId('event'), source: '/caisson/test', subject, sequence, position: sequence },
    ...{ time: new Date().toISOString(), tenant: 'acme', project: 'web', data },
  } as CaissonEvent;
}

/** The laws of `events/sink.ts`, one test each, for every sink. */
export function describeSink(name: string, make: () => Promise<SinkUnderTest>): void {
  describe(`sink ${name}`, () => {
    const never = new AbortController().signal;
    let made: SinkUnderTest;
    beforeEach(async () => {
      made = await make();
    });
    afterEach(() => made.close());

    test('the other side has the whole event when a delivery resolves', async () => {
      const event = sampleEvent('sbx1', 1, { line: 'ünï\n"quoted" \u0000 🙂', nested: { a: [1, null] } });
      await made.sink.deliver(event, never);
      expect(await made.received()).toEqual([event]);
    });

    test('what comes one after the other arrives in that order', async () => {
      const events = Array.from({ length: 20 }, (_, n) => sampleEvent('sbx1', n + 1));
      for (const event of events) await made.sink.deliver(event, never);
      expect(await made.received()).toEqual(events);
    });

    test('what comes at the same time arrives, each whole and once', async () => {
      const events = Array.from({ length: made.sink.parallel }, (_, n) => sampleEvent(`sbx${n}`, 1));
      await Promise.all(events.map((event) => made.sink.deliver(event, never)));
      const ids = (await made.received()).map(({ id }) => id);
      expect(ids.sort()).toEqual(events.map(({ id }) => id).sort());
    });

    test('what cannot be delivered is told in words, and can be later', async () => {
      const event = sampleEvent('sbx1', 1);
      await made.break();
      const failed = await made.sink.deliver(event, never).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(NotDelivered);
      expect((failed as Error).message).not.toBe('');
      await made.heal();
      await made.sink.deliver(event, never);
      expect((await made.received()).map(({ id }) => id)).toContain(event.id);
    });

    test('an event that comes again is no error', async () => {
      const event = sampleEvent('sbx1', 1);
      await made.sink.deliver(event, never);
      await made.sink.deliver(event, never);
      expect((await made.received()).map(({ id }) => id)).toContain(event.id);
    });

    test('a signal that is aborted ends a delivery', async () => {
      const failed = await made.sink.deliver(sampleEvent('sbx1', 1), AbortSignal.abort()).catch((error) => error);
      expect(failed).toBeInstanceOf(NotDelivered);
    });

    test('after it is closed nothing is delivered', async () => {
      await made.sink.close();
      await expect(made.sink.deliver(sampleEvent('sbx1', 1), never)).rejects.toBeInstanceOf(NotDelivered);
      expect(await made.received()).toEqual([]);
    });
  });
}
