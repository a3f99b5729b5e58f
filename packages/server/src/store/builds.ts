import {
  type Build,
  type BuildDetail,
  type BuildError,
  type BuildState,
  type BuildStepRecord,
  CaissonError,
  type Id,
  type Owner,
} from '@caisson/contract';
import { sql } from 'kysely';
import { buildColumns, toBuild } from './build-row.ts';
import type { Database, Queries } from './database.ts';
import { retryDeadlocks, violatedUnique } from './database-errors.ts';
import { changeHeldJob, endOfTry, type Job, type NewJob, newJobRow } from './jobs.ts';

export interface NewBuild {
  readonly id: Id<'build'>;
  readonly owner: Owner;
  /** Builds with one key give images that stand in for each other. */
  readonly key: string;
  readonly planDigest: string;
  readonly plan: unknown;
}

export interface BuildFilter {
  readonly tenant: string;
  readonly project: string;
  readonly state?: BuildState | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A build in the hands of a worker: what it says counts while its lease on the job holds. */
export interface HeldBuild {
  readonly build: Id<'build'>;
  readonly job: Job;
  readonly worker: string;
}

export interface BuildProgress {
  readonly steps: readonly BuildStepRecord[];
  readonly logBytes: number;
  readonly leftOutBytes: number;
}

const underWay = sql<boolean>`state in ('queued', 'running')`;

/**
 * Builds and their jobs: the job says who works on it, the build what became of it.
 *
 * Laws
 * - Both change in one transaction, so that neither tells of an end that the other does not know.
 * - Of builds with one unique key only one is under way; asking again answers that one.
 */
export class BuildStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The build that is under way for the job's unique key, or a new one. At most `maxUnderWay` of one tenant are. */
  async request(build: NewBuild, job: NewJob, maxUnderWay: number): Promise<Build> {
    for (;;) {
      try {
        return await this.#transaction((tx) => this.#insert(tx, build, job, maxUnderWay));
      } catch (error) {
        if (violatedUnique(error) === undefined) throw error;
      }
      const present = await this.#database.db
        .selectFrom('builds')
        .innerJoin('jobs', 'jobs.id', 'builds.job')
        .select(buildColumns.map((column) => `builds.${column}` as const))
        .where('jobs.unique_key', '=', job.uniqueKey ?? '')
        .where('jobs.state', 'in', ['queued', 'running'])
        .executeTakeFirst();
      // It may have ended between the two questions; then there is room for the new one.
      if (present) return toBuild(present);
    }
  }

  async get(id: string): Promise<Build | undefined> {
    const row = await this.#database.db
      .selectFrom('builds')
      .select(buildColumns)
      .where('id', '=', id)
      .executeTakeFirst();
    return row && toBuild(row);
  }

  async detail(id: string): Promise<BuildDetail | undefined> {
    const row = await this.#database.db.selectFrom('builds').selectAll().where('id', '=', id).executeTakeFirst();
    return row && { ...toBuild(row), plan: JSON.parse(row.plan), materials: row.materials };
  }

  /** Newest first. */
  async list({ tenant, project, state, after, limit }: BuildFilter): Promise<Build[]> {
    let query = this.#database.db
      .selectFrom('builds')
      .select(buildColumns)
      .where('tenant', '=', tenant)
      .where('project', '=', project);
    if (state !== undefined) query = query.where('state', '=', state);
    if (after !== undefined) query = query.where('id', '<', after);
    return (await query.orderBy('id', 'desc').limit(limit).execute()).map(toBuild);
  }

  /** The newest image that was built for a key. */
  async imageOf(key: string): Promise<{ build: Id<'build'>; image: string } | undefined> {
    const row = await this.#database.db
      .selectFrom('builds')
      .select(['id', 'image'])
      .where('key', '=', key)
      .where(sql<boolean>`state = 'succeeded'`)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row?.image ? { build: row.id as Id<'build'>, image: row.image } : undefined;
  }

  /** Whether a sandbox other than this one waits for the build. */
  async isAwaited(id: string, besides: string): Promise<boolean> {
    const row = await this.#database.db
      .selectFrom('attempts')
      .select('id')
      .where('build', '=', id)
      .where(sql<boolean>`state = 'running'`)
      .where('sandbox', '<>', besides)
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** A worker has taken it up: a new try, whose steps begin at the first. */
  async begin({ build, job }: HeldBuild, builder: string, now: number = Date.now()): Promise<void> {
    await this.#database.db
      .updateTable('builds')
      .set((eb) => ({
        state: 'running',
        builder,
        tries: job.tries,
        steps: '[]',
        started_at: eb.fn.coalesce('started_at', eb.val(now)),
      }))
      .where('id', '=', build)
      .where(underWay)
      .execute();
  }

  /** How far it is. It is for people to see: a worker that lost its lease meanwhile does no harm with it. */
  async tell(id: Id<'build'>, { steps, logBytes, leftOutBytes }: BuildProgress): Promise<void> {
    await this.#database.db
      .updateTable('builds')
      .set({ steps: JSON.stringify(steps), log_bytes: logBytes, left_out_bytes: leftOutBytes })
      .where('id', '=', id)
      .execute();
  }

  /** False: the lease is over, and somebody else says how it ends. */
  async succeed(held: HeldBuild, image: string, materials: string | null, now: number = Date.now()): Promise<boolean> {
    const done = { state: 'succeeded', lease_owner: null, lease_until: null };
    return this.#end(held, done, { state: 'succeeded', image, materials, error: null, ended_at: now }, now);
  }

  /** Ends a try. Undefined: the lease is over, and somebody else says how it ends. */
  async fail(
    held: HeldBuild,
    error: BuildError,
    retry: boolean,
    now: number = Date.now(),
  ): Promise<'queued' | 'failed' | undefined> {
    const change = endOfTry(held.job, error.message, retry, now);
    const state = change.state === 'queued' ? 'queued' : 'failed';
    const ended = { state, error: JSON.stringify(error), ended_at: state === 'failed' ? now : null };
    return (await this.#end(held, change, ended, now)) ? state : undefined;
  }

  /** The build and its job as they are when nobody works on it any more and nobody shall. False when it had ended. */
  async cancel(id: string, error: BuildError, now: number = Date.now()): Promise<boolean> {
    return this.#transaction(async (tx) => {
      const row = await tx
        .updateTable('builds')
        .set({ state: 'cancelled', error: JSON.stringify(error), ended_at: now })
        .where('id', '=', id)
        .where(underWay)
        .returning('job')
        .executeTakeFirst();
      if (!row) return false;
      await tx
        .updateTable('jobs')
        .set({ state: 'cancelled', lease_owner: null, lease_until: null, updated_at: now })
        .where('id', '=', row.job)
        .where('state', 'in', ['queued', 'running'])
        .execute();
      return true;
    });
  }

  /** Builds whose job died without a worker to say so: its last lease ended. Answers which. */
  async buryDead(now: number = Date.now()): Promise<Id<'build'>[]> {
    const dead = await this.#database.db
      .selectFrom('builds')
      .innerJoin('jobs', 'jobs.id', 'builds.job')
      .select(['builds.id', 'jobs.error'])
      .where('builds.state', 'in', ['queued', 'running'])
      .where('jobs.state', '=', 'dead')
      .limit(100)
      .execute();
    for (const { id, error } of dead) {
      const message = `it was given up: ${error ?? 'its worker stopped answering'}`;
      const why = { code: 'interrupted', message, step: null, command: null, exitCode: null, lastLines: [] };
      await this.#database.db
        .updateTable('builds')
        .set({ state: 'failed', error: JSON.stringify(why), ended_at: now })
        .where('id', '=', id)
        .where(underWay)
        .execute();
    }
    return dead.map(({ id }) => id as Id<'build'>);
  }

  async #insert(tx: Queries, build: NewBuild, job: NewJob, maxUnderWay: number): Promise<Build> {
    const now = Date.now();
    const { tenant, project, principal, scope } = build.owner;
    const queued = await tx
      .insertInto('jobs')
      .values(newJobRow({ ...job, tenant }, now))
      .returning('id')
      .executeTakeFirstOrThrow();
    const { count } = await tx
      .selectFrom('builds')
      .select((eb) => eb.fn.countAll().as('count'))
      .where('tenant', '=', tenant)
      .where(underWay)
      .executeTakeFirstOrThrow();
    if (Number(count) >= maxUnderWay) {
      throw new CaissonError('build_queue_full', `the tenant ${tenant} has ${count} builds that have not ended`, {
        context: { tenant, underWay: Number(count), max: maxUnderWay },
      });
    }
    const row = await tx
      .insertInto('builds')
      .values({
        id: build.id,
        job: queued.id,
        key: build.key,
        tenant,
        project,
        principal,
        scope: scope ?? null,
        plan_digest: build.planDigest,
        plan: JSON.stringify(build.plan),
        state: 'queued',
        builder: null,
        tries: 0,
        steps: '[]',
        error: null,
        image: null,
        materials: null,
        log_bytes: 0,
        left_out_bytes: 0,
        created_at: now,
        started_at: null,
        ended_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return toBuild(row);
  }

  async #end(
    { build, job, worker }: HeldBuild,
    ofJob: Parameters<typeof changeHeldJob>[2],
    ofBuild: Record<string, unknown>,
    now: number,
  ): Promise<boolean> {
    return this.#transaction(async (tx) => {
      if (!(await changeHeldJob(tx, { id: job.id, owner: worker }, ofJob, now))) return false;
      await tx.updateTable('builds').set(ofBuild).where('id', '=', build).where(underWay).execute();
      return true;
    });
  }

  #transaction<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return retryDeadlocks(() => this.#database.db.transaction().execute(work));
  }
}
