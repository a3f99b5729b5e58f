import { setMaxListeners } from 'node:events';
import type { CaissonEvent } from '@caisson/contract';
import type { EventFilter } from '../store/events.ts';
import type { HeldSubject } from '../store/sinks.ts';
import type { Store } from '../store/store.ts';
import { HeldSubjects } from './held-subjects.ts';
import { Lanes } from './lanes.ts';
import { maxTries, retryDelayMs } from './retry-delay.ts';
import { type EventSink, reasonOf } from './sink.ts';

export type SinkFilter = Pick<EventFilter, 'tenant' | 'project' | 'types' | 'labels'>;

export interface PumpOptions {
  readonly name: string;
  readonly sink: EventSink;
  readonly store: Pick<Store, 'events' | 'sinks'>;
  readonly filter: SinkFilter;
  /** Who this is; a sink that somebody else takes is left to them. */
  readonly holder: string;
  /** Where a sink begins that is new. */
  readonly from: number;
  readonly maxTries?: number;
  retryMs?(tries: number): number;
  /** How each try went; `dead` follows the last one that failed. */
  tried?(event: CaissonEvent, outcome: 'delivered' | 'failed' | 'dead'): void;
  /** An event was given up. */
  gaveUp?(event: CaissonEvent, reason: string): void;
  /** Something went wrong here, not on the other side. */
  failed?(error: unknown): void;
}

/** Read ahead of what is delivered: enough for every delivery at a time, few enough to hold. */
const maxPending = 500;
const pageSize = 200;
/** Subjects that wait because of a failure. With more of them it is the other side that is away: no more is read. */
const maxHeld = 100;
/** Positions are written this often at most; what was delivered since comes again after a crash. */
const advanceMs = 200;
/** Between two reads where events come one upon the other. Longer only makes them later. */
const gatherMs = 5;
/** A database that is away is asked again after this. */
const troubleMs = 1_000;

/**
 * Brings the log to one sink.
 *
 * Laws
 * - At least once: the position passes an event only when it is delivered, given up, or of a subject that is held.
 * - In order for each subject: its events are delivered one after the other. One that fails holds up those after it, not
 *   those of other subjects, and is tried again with pauses that double; after so many tries it is given up and told.
 * - What is in memory is bounded: events that were read, and subjects that are held.
 * - Killed anywhere, it goes on from the store: what had no answer yet comes again.
 */
export class SinkPump {
  readonly #options: PumpOptions;
  readonly #lanes = new Lanes();
  readonly #held: HeldSubjects;
  readonly #abort = new AbortController();
  readonly #waiting: string[] = [];
  #atWork = 0;
  /** Everything up to here was read. */
  #read = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #written = 0;
  /** The newest position that somebody told of; everything up to it is in the log. */
  #heard = 0;
  #wake = () => {};
  #isWoken = false;
  #advancing: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  readonly #deliveries = new Set<Promise<void>>();
  readonly #releasing = new Map<string, Promise<unknown>>();

  constructor(options: PumpOptions) {
    this.#options = options;
    // Every delivery listens to it.
    setMaxListeners(0, this.#abort.signal);
    this.#held = new HeldSubjects((subject) => this.#enqueue(subject));
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Ends what is on its way; what is not known to be delivered comes again. */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.#rouse();
    clearTimeout(this.#advancing);
    this.#held.clear();
    await this.#running;
    await Promise.all(this.#deliveries);
    await this.#advance().catch(() => {});
    await this.#options.sink.close();
  }

  /** How far it is behind what it heard of, since when the oldest waits that it has read, and how many subjects are held. */
  get backlog(): { readonly behind: number; readonly since: number | undefined; readonly held: number } {
    const since = [this.#lanes.since, this.#held.since].filter((time) => time !== undefined);
    return {
      behind: Math.max(0, this.#heard - this.#lanes.settled(this.#read)),
      since: since.length === 0 ? undefined : Math.min(...since),
      held: this.#held.size,
    };
  }

  /** There is an event at this position, and none before it that is not in the log yet. */
  heard(position: number): void {
    if (position > this.#heard) this.#heard = position;
    this.#rouse();
  }

  async #run(): Promise<void> {
    await this.#trying(() => this.#take());
    while (!this.#abort.signal.aborted) {
      this.#isWoken = false;
      const isFull = this.#lanes.size > maxPending - pageSize || this.#held.size >= maxHeld;
      const isMore = !isFull && (await this.#trying(() => this.#readPage()));
      if (isMore || this.#abort.signal.aborted) continue;
      if (!this.#isWoken)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      await this.#gather();
    }
  }

  /** Where events come one upon the other they are read together: a query for each would cost more than its delivery. */
  async #gather(): Promise<void> {
    const sinceMs = performance.now() - this.#readAt;
    if (sinceMs < gatherMs) await new Promise((resolve) => setTimeout(resolve, gatherMs - sinceMs));
  }

  async #take(): Promise<void> {
    const { name, store, holder, from } = this.#options;
    const { position, held } = await store.sinks.take(name, holder, from);
    this.#read = position;
    this.#written = position;
    this.#heard = Math.max(this.#heard, await store.events.end());
    for (const one of held) this.#held.add(one);
  }

  /** Answers whether there is more. */
  async #readPage(): Promise<boolean> {
    const { store, filter } = this.#options;
    const heard = this.#heard;
    if (heard <= this.#read) return false;
    const page = await store.events.list({ ...filter, after: this.#read, limit: pageSize });
    this.#readAt = performance.now();
    for (const event of page) {
      // Whoever tries the held one again goes on with those after it, up to what was read.
      if (!this.#held.has(event.subject) && this.#lanes.add(event)) this.#enqueue(event.subject);
    }
    const last = page.at(-1)?.position ?? 0;
    // A short page is the end of what there was when it was asked for, also where the filter let nothing through.
    this.#read = page.length === pageSize ? last : Math.max(heard, last);
    this.#settle();
    return page.length === pageSize || this.#heard > this.#read;
  }

  #enqueue(subject: string): void {
    this.#waiting.push(subject);
    this.#deliverMore();
  }

  #deliverMore(): void {
    while (this.#atWork < this.#options.sink.parallel && !this.#abort.signal.aborted) {
      const subject = this.#waiting.shift();
      if (subject === undefined) return;
      this.#atWork += 1;
      const work = this.#held.has(subject) ? this.#retry(subject) : this.#deliverLane(subject);
      const delivery = work
        .catch((error: unknown) => this.#options.failed?.(error))
        .finally(() => {
          this.#deliveries.delete(delivery);
          this.#atWork -= 1;
          this.#rouse();
          this.#deliverMore();
        });
      this.#deliveries.add(delivery);
    }
  }

  async #deliverLane(subject: string): Promise<void> {
    for (let event = this.#lanes.head(subject); event; event = this.#lanes.head(subject)) {
      const reason = await this.#deliver(event);
      if (this.#abort.signal.aborted) return;
      if (reason === undefined) this.#lanes.done(subject);
      else {
        const held = this.#failedOnce(event, reason, 0);
        // The row of an earlier hold must be gone before there is another one.
        await this.#releasing.get(subject);
        if (!(await this.#trying(() => this.#write((sinks, ...who) => sinks.hold(...who, held))))) return;
        this.#held.add(held);
        this.#lanes.drop(subject);
      }
      this.#settle();
      // There is room again.
      if (this.#lanes.size <= maxPending - pageSize) this.#rouse();
    }
  }

  /** Tries the event again that a subject is held by, and then goes on with those after it. */
  async #retry(subject: string): Promise<void> {
    const { store, filter } = this.#options;
    for (let held = this.#held.get(subject); held && !this.#abort.signal.aborted; held = this.#held.get(subject)) {
      const read = this.#read;
      const from = held.sequence;
      const page = await this.#trying(() => store.events.ofSubject({ ...filter, subject }, from, pageSize));
      const due = page?.filter(({ position }) => position <= read) ?? [];
      if (page && due.length === 0) {
        // What was read meanwhile was left to this.
        if (this.#read !== read) continue;
        return this.#release(subject);
      }
      for (const event of due) if (!(await this.#retryOne(event, this.#held.get(subject) ?? held))) return;
    }
  }

  /** At once for whoever reads. The row may outlive that: then its subject is tried again, and nothing is missed. */
  async #release(subject: string): Promise<void> {
    this.#held.remove(subject);
    const releasing = this.#trying(() => this.#write((sinks, ...who) => sinks.release(...who, subject)));
    this.#releasing.set(subject, releasing);
    await releasing;
    this.#releasing.delete(subject);
  }

  /** Answers whether to go on with the next of its subject; else it rests until its next try, or this ends. */
  async #retryOne(event: CaissonEvent, before: HeldSubject): Promise<boolean> {
    const reason = await this.#deliver(event);
    if (this.#abort.signal.aborted) return false;
    const next = { ...before, sequence: event.sequence + 1, tries: 0, retryAt: 0 };
    const failed = reason === undefined ? undefined : this.#failedAgain(event, reason, before);
    const isOver = failed !== undefined && failed.tries >= (this.#options.maxTries ?? maxTries);
    const written = await this.#trying(() =>
      this.#write((sinks, ...who) =>
        isOver ? sinks.giveUp(...who, event, failed) : sinks.hold(...who, failed ?? next),
      ),
    );
    if (!written) return false;
    if (isOver) {
      this.#options.tried?.(event, 'dead');
      this.#options.gaveUp?.(event, failed.error);
    }
    const goesOn = failed === undefined || isOver;
    this.#held.add(goesOn ? next : failed, { isAtWork: goesOn });
    return goesOn;
  }

  #failedAgain(event: CaissonEvent, reason: string, { sequence, tries }: HeldSubject): HeldSubject {
    return this.#failedOnce(event, reason, sequence === event.sequence ? tries : 0);
  }

  #failedOnce({ subject, sequence }: CaissonEvent, error: string, triesBefore: number): HeldSubject {
    const tries = triesBefore + 1;
    const retryMs = this.#options.retryMs?.(tries) ?? retryDelayMs(tries);
    return { subject, sequence, tries, retryAt: Date.now() + retryMs, error };
  }

  /** Why it was not delivered; undefined when it was. */
  async #deliver(event: CaissonEvent): Promise<string | undefined> {
    try {
      await this.#options.sink.deliver(event, this.#abort.signal);
      this.#options.tried?.(event, 'delivered');
      return undefined;
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#options.tried?.(event, 'failed');
      return reasonOf(error);
    }
  }

  /** The position is written a moment later, once for many. */
  #settle(): void {
    if (this.#lanes.settled(this.#read) <= this.#written) return;
    this.#advancing ??= setTimeout(() => {
      this.#advancing = undefined;
      this.#advance()
        .catch((error: unknown) => this.#options.failed?.(error))
        .finally(() => this.#settle());
    }, advanceMs).unref();
  }

  async #advance(): Promise<void> {
    const position = this.#lanes.settled(this.#read);
    if (position <= this.#written) return;
    if (await this.#write((sinks, ...who) => sinks.advance(...who, position))) this.#written = position;
  }

  /** Ends everything when the sink is somebody else's by now. */
  async #write(write: (sinks: Store['sinks'], name: string, holder: string) => Promise<boolean>): Promise<boolean> {
    const { store, name, holder } = this.#options;
    const isOurs = await write(store.sinks, name, holder);
    if (!isOurs) this.#abort.abort();
    return isOurs;
  }

  /** Again and again while the database is away; undefined when this ends before. */
  async #trying<T>(work: () => Promise<T>): Promise<T | undefined> {
    while (!this.#abort.signal.aborted) {
      try {
        return await work();
      } catch (error) {
        this.#options.failed?.(error);
        await new Promise((resolve) => setTimeout(resolve, troubleMs));
      }
    }
    return undefined;
  }

  #rouse(): void {
    this.#isWoken = true;
    this.#wake();
  }
}
