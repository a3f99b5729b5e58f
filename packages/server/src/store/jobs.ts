import { type Id, newId } from '@caisson/contract';
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import { backoffMs } from './backoff.ts';
import type { Database, Queries } from './database.ts';
import { violatedUnique } from './database-errors.ts';
import type { JobTable } from './schema.ts';

/**
 * Work that outlives a request: a row that one worker at a time holds by a lease.
 *
 * Laws
 * - A job is claimed by one worker. The worker keeps it by heartbeats; when they stop, the lease ends and another takes it.
 * - What a worker says about a job counts only while its lease holds: a worker that was away too long is not believed.
 * - A try that fails is repeated after a pause that doubles, until `maxTries`; then the job is `dead` and keeps its error.
 * - Of jobs with one `uniqueKey` only one is queued or running; asking again answers that one.
 *
 * States: queued → running → succeeded · dead · cancelled, and back to queued when a try fails or a lease ends.
 */
export interface Job {
  readonly id: Id<'job'>;
  readonly kind: string;
  readonly payload: unknown;
  readonly state: 'queued' | 'running' | 'succeeded' | 'dead' | 'cancelled';
  readonly priority: number;
  readonly tries: number;
  readonly maxTries: number;
  readonly runAt: number;
  readonly leaseUntil: number | null;
  readonly error: string | null;
}

export interface NewJob {
  readonly kind: string;
  readonly payload: unknown;
  readonly uniqueKey?: string;
  readonly tenant?: string;
  /** Higher goes first. */
  readonly priority?: number;
  readonly maxTries?: number;
  readonly runAt?: number;
}

/** Longer pauses leave people waiting after the cause is gone. */
export const longestBackoffMs = 5 * 60_000;

/** What was given up longer ago than this was seen, or nobody looks. */
const lateMs = 3_600_000;

export class JobStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async enqueue(job: NewJob): Promise<Job> {
    const values = newJobRow(job, Date.now());
    for (;;) {
      try {
        return toJob(
          await this.#database.db.insertInto('jobs').values(values).returningAll().executeTakeFirstOrThrow(),
        );
      } catch (error) {
        if (job.uniqueKey === undefined || violatedUnique(error) === undefined) throw error;
      }
      const present = await this.#database.db
        .selectFrom('jobs')
        .selectAll()
        .where('unique_key', '=', job.uniqueKey)
        .where('state', 'in', ['queued', 'running'])
        .executeTakeFirst();
      // It may have ended between the two questions; then there is room for the new one.
      if (present) return toJob(present);
    }
  }

  /** The next job that is due, of these kinds, now held by `owner`; undefined when there is none. */
  async claim(
    kinds: readonly string[],
    owner: string,
    leaseMs: number,
    now: number = Date.now(),
  ): Promise<Job | undefined> {
    await this.#endLeases(now);
    return this.#database.db.transaction().execute(async (tx) => {
      const next = await this.#next(tx, kinds, now);
      if (!next) return undefined;
      const row = await tx
        .updateTable('jobs')
        .set((eb) => ({
          state: 'running',
          tries: eb('tries', '+', 1),
          lease_owner: owner,
          lease_until: now + leaseMs,
          updated_at: now,
        }))
        .where('id', '=', next.id)
        .where('state', '=', 'queued')
        .returningAll()
        .executeTakeFirst();
      return row && toJob(row);
    });
  }

  /** Keeps the job. False: it is no longer yours, or was cancelled; stop working on it. */
  async heartbeat(id: string, owner: string, leaseMs: number, now: number = Date.now()): Promise<boolean> {
    return this.#whileHeld(id, owner, now, { lease_until: now + leaseMs });
  }

  async succeed(id: string, owner: string, now: number = Date.now()): Promise<boolean> {
    return this.#whileHeld(id, owner, now, { state: 'succeeded', lease_owner: null, lease_until: null });
  }

  /** Ends this try. What cannot heal is not tried again. */
  async fail(
    id: string,
    owner: string,
    error: string,
    { retry = true } = {},
    now: number = Date.now(),
  ): Promise<boolean> {
    const job = await this.get(id);
    return job !== undefined && this.#whileHeld(id, owner, now, endOfTry(job, error, retry, now));
  }

  /** Gives a job back unfinished, because its worker ends: the try does not count, and any worker may go on at once. */
  async release(id: string, owner: string, now: number = Date.now()): Promise<boolean> {
    const job = await this.get(id);
    if (!job) return false;
    const given = { state: 'queued', tries: Math.max(0, job.tries - 1), run_at: now };
    return this.#whileHeld(id, owner, now, { ...given, lease_owner: null, lease_until: null });
  }

  /** Ends every lease on jobs of this kind at once, for a server that knows that no other one is at work. */
  async releaseAll(kind: string, now: number = Date.now()): Promise<void> {
    await this.#database.db
      .updateTable('jobs')
      .set({ lease_until: now - 1, updated_at: now })
      .where(sql<boolean>`state = 'running'`)
      .where('kind', '=', kind)
      .execute();
  }

  /** A queued job never runs; a running one learns of it at its next heartbeat. False when it had ended already. */
  async cancel(id: string, now: number = Date.now()): Promise<boolean> {
    const row = await this.#database.db
      .updateTable('jobs')
      .set({ state: 'cancelled', lease_owner: null, lease_until: null, updated_at: now })
      .where('id', '=', id)
      .where('state', 'in', ['queued', 'running'])
      .returning('id')
      .executeTakeFirst();
    return row !== undefined;
  }

  async get(id: string): Promise<Job | undefined> {
    const row = await this.#database.db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst();
    return row && toJob(row);
  }

  async countByState(): Promise<Record<string, number>> {
    const rows = await this.#database.db
      .selectFrom('jobs')
      .select(['state', (eb) => eb.fn.countAll().as('count')])
      .groupBy('state')
      .execute();
    return Object.fromEntries(rows.map((row) => [row.state, Number(row.count)]));
  }

  /** What somebody should look at: jobs given up of late after every try, and how long the oldest that is due has waited. */
  async trouble(now: number = Date.now()): Promise<{ readonly dead: number; readonly oldestDueSeconds: number }> {
    const { db } = this.#database;
    const dead = await db
      .selectFrom('jobs')
      .select((eb) => eb.fn.countAll().as('count'))
      .where('state', '=', 'dead')
      .where('updated_at', '>', now - lateMs)
      .whereRef('tries', '>=', 'max_tries')
      .executeTakeFirst();
    const due = await db
      .selectFrom('jobs')
      .select((eb) => eb.fn.min('run_at').as('first'))
      .where('state', '=', 'queued')
      .where('run_at', '<=', now)
      .executeTakeFirst();
    const first = due?.first ?? null;
    return { dead: Number(dead?.count ?? 0), oldestDueSeconds: first === null ? 0 : (now - Number(first)) / 1000 };
  }

  async #next(tx: Queries, kinds: readonly string[], now: number): Promise<{ id: string } | undefined> {
    const query = tx
      .selectFrom('jobs')
      .select('id')
      .where(sql<boolean>`state = 'queued'`)
      .where('kind', 'in', [...kinds])
      .where('run_at', '<=', now)
      .orderBy('priority', 'desc')
      .orderBy('run_at')
      .orderBy('id')
      .limit(1);
    // SQLite has one writer; on Postgres each worker passes over what another is just taking.
    return (this.#database.engine === 'postgres' ? query.forUpdate().skipLocked() : query).executeTakeFirst();
  }

  async #endLeases(now: number): Promise<void> {
    const ended = (state: string, tried: 'more' | 'all') =>
      this.#database.db
        .updateTable('jobs')
        .set({
          state,
          lease_owner: null,
          lease_until: null,
          updated_at: now,
          run_at: now,
          error: 'its worker stopped answering',
        })
        .where(sql<boolean>`state = 'running'`)
        .where('lease_until', '<', now)
        .where(sql<boolean>`tries ${sql.raw(tried === 'all' ? '>=' : '<')} max_tries`)
        .execute();
    await ended('queued', 'more');
    await ended('dead', 'all');
  }

  async #whileHeld(id: string, owner: string, now: number, change: JobChange): Promise<boolean> {
    return changeHeldJob(this.#database.db, { id, owner }, change, now);
  }
}

type JobChange = Updateable<JobTable>;

/** Changes a job for its worker, unless the worker's lease is over. */
export async function changeHeldJob(
  queries: Queries,
  { id, owner }: { readonly id: string; readonly owner: string },
  change: JobChange,
  now: number,
): Promise<boolean> {
  const row = await queries
    .updateTable('jobs')
    .set({ ...change, updated_at: now })
    .where('id', '=', id)
    .where('state', '=', 'running')
    .where('lease_owner', '=', owner)
    .where('lease_until', '>=', now)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** What a try that failed leaves of its job: queued again after a pause, or dead. */
export function endOfTry(job: Pick<Job, 'tries' | 'maxTries'>, error: string, retry: boolean, now: number) {
  const again = retry && job.tries < job.maxTries;
  const next = again ? { state: 'queued', run_at: now + backoffMs(job.tries, longestBackoffMs) } : { state: 'dead' };
  return { ...next, error: error.slice(0, 8192), lease_owner: null, lease_until: null };
}

export function newJobRow(job: NewJob, now: number): Insertable<JobTable> {
  return {
    id: newId('job', now),
    kind: job.kind,
    unique_key: job.uniqueKey ?? null,
    tenant: job.tenant ?? null,
    payload: JSON.stringify(job.payload),
    state: 'queued',
    priority: job.priority ?? 0,
    tries: 0,
    max_tries: job.maxTries ?? 5,
    run_at: job.runAt ?? now,
    created_at: now,
    updated_at: now,
  };
}

function toJob(row: Selectable<JobTable>): Job {
  return {
    id: row.id as Id<'job'>,
    kind: row.kind,
    payload: JSON.parse(row.payload),
    state: row.state as Job['state'],
    priority: row.priority,
    tries: row.tries,
    maxTries: row.max_tries,
    runAt: row.run_at,
    leaseUntil: row.lease_until,
    error: row.error,
  };
}
