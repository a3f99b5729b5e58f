import type { CaissonEvent, DeadLetter, Id } from '@caisson/contract';
import type { Database, Queries } from './database.ts';
import { isoTime } from './sandbox-row.ts';

/** A subject whose events wait from one of them on, because that one could not be delivered. */
export interface HeldSubject {
  readonly subject: string;
  /** The sequence of the event that is tried again; those before it are delivered or given up. */
  readonly sequence: number;
  readonly tries: number;
  readonly retryAt: number;
  readonly error: string;
}

export interface SinkState {
  readonly position: number;
  readonly held: number;
  readonly deadLetters: number;
  readonly error: string | null;
}

/** Newer ones say what older ones said; whoever needs those replays the log. */
const maxDeadLetters = 1_000;
const maxErrorLength = 1_000;

/**
 * How far each sink has come.
 *
 * Laws
 * - A sink has one holder, the newest server that took it. What another one writes about it does not count.
 * - Everything up to its position is delivered, given up, or belongs to a subject that is held from there or before.
 * - A subject is held before the position passes what is held of it.
 */
export class SinkStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Makes the sink this holder's, at `position` when it is new; answers where it goes on and what is held. */
  async take(name: string, holder: string, position: number): Promise<{ position: number; held: HeldSubject[] }> {
    const { db } = this.#database;
    const row = await db
      .insertInto('sinks')
      .values({ name, position, holder, updated_at: Date.now() })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ holder }))
      .returning('position')
      .executeTakeFirstOrThrow();
    const held = await db.selectFrom('sink_held').selectAll().where('sink', '=', name).execute();
    return {
      position: row.position,
      held: held.map(({ subject, sequence, tries, retry_at: retryAt, error }) => ({
        ...{ subject, sequence, tries, error },
        retryAt,
      })),
    };
  }

  /** False: it is held by another one now. */
  async advance(name: string, holder: string, position: number): Promise<boolean> {
    const row = await this.#database.db
      .updateTable('sinks')
      .set({ position, updated_at: Date.now() })
      .where('name', '=', name)
      .where('holder', '=', holder)
      .returning('name')
      .executeTakeFirst();
    return row !== undefined;
  }

  /** From here on its position says nothing of this subject. False: the sink is held by another one now. */
  async hold(name: string, holder: string, held: HeldSubject): Promise<boolean> {
    return this.#whileHeld(name, holder, (tx) => putHeld(tx, name, held));
  }

  /** Gives an event up, and goes on with the next of its subject. */
  async giveUp(name: string, holder: string, event: CaissonEvent, held: HeldSubject): Promise<boolean> {
    return this.#whileHeld(name, holder, async (tx) => {
      const { position, id, type, subject } = event;
      const letter = { tries: held.tries, error: held.error.slice(0, maxErrorLength), at: Date.now() };
      await tx
        .insertInto('sink_dead_letters')
        .values({ sink: name, position, event: id, type, subject, ...letter })
        .onConflict((conflict) => conflict.columns(['sink', 'position']).doUpdateSet(letter))
        .execute();
      await putHeld(tx, name, { ...held, sequence: event.sequence + 1, tries: 0 });
      const oldest = await tx
        .selectFrom('sink_dead_letters')
        .select('position')
        .where('sink', '=', name)
        .orderBy('position', 'desc')
        .offset(maxDeadLetters)
        .limit(1)
        .executeTakeFirst();
      if (oldest)
        await tx
          .deleteFrom('sink_dead_letters')
          .where('sink', '=', name)
          .where('position', '<=', oldest.position)
          .execute();
    });
  }

  async release(name: string, holder: string, subject: string): Promise<boolean> {
    return this.#whileHeld(name, holder, async (tx) => {
      await tx.deleteFrom('sink_held').where('sink', '=', name).where('subject', '=', subject).execute();
    });
  }

  /** Everything after a position is delivered again; nothing is held any more. */
  async rewind(name: string, position: number): Promise<void> {
    await this.#database.db.transaction().execute(async (tx) => {
      // Nobody holds it until it is taken again: what is on its way does not count.
      const values = { position, holder: null, updated_at: Date.now() };
      await tx
        .insertInto('sinks')
        .values({ name, ...values })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(values))
        .execute();
      await tx.deleteFrom('sink_held').where('sink', '=', name).execute();
    });
  }

  async states(names: readonly string[]): Promise<Map<string, SinkState>> {
    const { db } = this.#database;
    if (names.length === 0) return new Map();
    const [sinks, held, dead] = await Promise.all([
      db.selectFrom('sinks').select(['name', 'position']).where('name', 'in', names).execute(),
      db
        .selectFrom('sink_held')
        .select(['sink', 'error', 'retry_at'])
        .where('sink', 'in', names)
        .orderBy('retry_at', 'desc')
        .execute(),
      db
        .selectFrom('sink_dead_letters')
        .select(['sink', (eb) => eb.fn.countAll().as('count')])
        .where('sink', 'in', names)
        .groupBy('sink')
        .execute(),
    ]);
    return new Map(
      names.map((name) => {
        const waiting = held.filter(({ sink }) => sink === name);
        const state: SinkState = {
          position: sinks.find((one) => one.name === name)?.position ?? 0,
          held: waiting.length,
          deadLetters: Number(dead.find(({ sink }) => sink === name)?.count ?? 0),
          error: waiting[0]?.error ?? null,
        };
        return [name, state];
      }),
    );
  }

  /** Newest first. */
  async deadLetters(name: string, limit: number, before?: number): Promise<DeadLetter[]> {
    let query = this.#database.db.selectFrom('sink_dead_letters').selectAll().where('sink', '=', name);
    if (before !== undefined) query = query.where('position', '<', before);
    const rows = await query.orderBy('position', 'desc').limit(limit).execute();
    return rows.map(({ position, event, type, subject, tries, error, at }) => ({
      ...{ position, type, subject, tries, error },
      event: event as Id<'event'>,
      at: isoTime(at),
    }));
  }

  /** Locks the row of the sink: its holder cannot change meanwhile. */
  async #whileHeld(name: string, holder: string, work: (tx: Queries) => Promise<void>): Promise<boolean> {
    return this.#database.db.transaction().execute(async (tx) => {
      const row = await tx
        .updateTable('sinks')
        .set({ updated_at: Date.now() })
        .where('name', '=', name)
        .where('holder', '=', holder)
        .returning('name')
        .executeTakeFirst();
      if (!row) return false;
      await work(tx);
      return true;
    });
  }
}

/** What is left of a sink, in the transaction that removes it. */
export async function forgetSink(tx: Queries, name: string): Promise<void> {
  await tx.deleteFrom('sinks').where('name', '=', name).execute();
  await tx.deleteFrom('sink_held').where('sink', '=', name).execute();
  await tx.deleteFrom('sink_dead_letters').where('sink', '=', name).execute();
}

async function putHeld(tx: Queries, sink: string, held: HeldSubject): Promise<void> {
  const { subject, sequence, tries, retryAt } = held;
  const values = { sequence, tries, retry_at: Math.round(retryAt), error: held.error.slice(0, maxErrorLength) };
  await tx
    .insertInto('sink_held')
    .values({ sink, subject, ...values })
    .onConflict((conflict) => conflict.columns(['sink', 'subject']).doUpdateSet(values))
    .execute();
}
