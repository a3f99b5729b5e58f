import type { Attempt, AttemptSummary, Id, Reason, ReasonCode } from '@caisson/contract';
import type { Selectable } from 'kysely';
import type { Database, Queries } from './database.ts';
import type { StoredRoute } from './routes.ts';
import { isoTime, type SandboxRow } from './sandbox-row.ts';
import type { AttemptTable } from './schema.ts';
import { statement } from './statement.ts';

export interface NewAttempt {
  readonly id: Id<'attempt'>;
  readonly action: Attempt['action'];
  readonly spec: unknown;
  readonly resolvedSpec: unknown;
  readonly blueprint: unknown;
  readonly blueprintDigest: string;
  /** The snapshot that its files come from, in place of an image. */
  readonly fromSnapshot?: Id<'snapshot'> | null;
  /** Why it goes where it goes, where that was decided for it. */
  readonly route?: StoredRoute;
  readonly made?: AttemptPlan;
}

/** What an attempt is made of, as far as it is known: from its request, or from its build. */
export interface AttemptPlan {
  readonly planDigest?: string | undefined;
  readonly plan?: unknown;
  readonly build?: Id<'build'> | undefined;
  /** The digest of the image to begin from. */
  readonly fromImage?: string | undefined;
  readonly sources?: Attempt['sources'] | undefined;
}

/** What of its image a sandbox needs besides its files. */
export interface AttemptImage {
  readonly digest: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface AttemptOutcome {
  readonly state: 'succeeded' | 'failed' | 'cancelled';
  readonly reason?: Reason;
  readonly image?: AttemptImage | undefined;
}

/** Inputs are kept as they were given: the answer to "what exactly ran". */
export async function insertAttempt(tx: Queries, attempt: NewAttempt, row: SandboxRow, now: number): Promise<void> {
  await tx
    .insertInto('attempts')
    .values({
      id: attempt.id,
      sandbox: row.id,
      tenant: row.tenant,
      incarnation: row.incarnation,
      action: attempt.action,
      state: 'running',
      driver: row.driver,
      spec: JSON.stringify(attempt.spec),
      resolved_spec: JSON.stringify(attempt.resolvedSpec),
      blueprint: JSON.stringify(attempt.blueprint),
      blueprint_digest: attempt.blueprintDigest,
      from_snapshot: attempt.fromSnapshot ?? null,
      route: attempt.route ? JSON.stringify(attempt.route) : null,
      ...planColumns(attempt.made ?? {}),
      started_at: now,
    })
    .execute();
}

export async function endAttempt(tx: Queries, id: string, outcome: AttemptOutcome, now: number): Promise<void> {
  await tx
    .updateTable('attempts')
    .set({
      state: outcome.state,
      reason_code: outcome.reason?.code ?? null,
      reason_message: outcome.reason?.message ?? null,
      ...(outcome.image ? { image: JSON.stringify(outcome.image) } : {}),
      ended_at: now,
    })
    .where('id', '=', id)
    .where('state', '=', 'running')
    .execute();
}

function planColumns({ planDigest, plan, build, fromImage, sources }: AttemptPlan) {
  return {
    ...(planDigest === undefined ? {} : { plan_digest: planDigest }),
    ...(plan === undefined || plan === null ? {} : { plan: JSON.stringify(plan) }),
    ...(build === undefined ? {} : { build }),
    ...(fromImage === undefined ? {} : { from_image: fromImage }),
    ...(sources === undefined || sources === null ? {} : { sources: JSON.stringify(sources) }),
  };
}

/** Somebody took over what was made ahead: the inputs are theirs, and the blueprint that they stand for is the same. */
export async function replaceInputs(tx: Queries, id: string, attempt: NewAttempt, tenant: string): Promise<void> {
  await updateInputs(tx, {
    id,
    tenant,
    spec: JSON.stringify(attempt.spec),
    resolvedSpec: JSON.stringify(attempt.resolvedSpec),
    route: attempt.route ? JSON.stringify({ ...attempt.route, claimed: true }) : null,
  });
}

interface Inputs {
  readonly id: string;
  readonly tenant: string;
  readonly spec: string;
  readonly resolvedSpec: string;
  readonly route: string | null;
}

const updateInputs = statement((queries, { id, tenant, spec, resolvedSpec, route }: Inputs) =>
  queries
    .updateTable('attempts')
    .set((eb) => ({
      tenant,
      spec,
      resolved_spec: resolvedSpec,
      // Without one of its own, what was decided when it was made ahead stays.
      route: eb.fn.coalesce(eb.val(route), 'route'),
    }))
    .where('id', '=', id),
);

export class AttemptStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async get(id: string): Promise<Attempt | undefined> {
    const row = await this.#database.db.selectFrom('attempts').selectAll().where('id', '=', id).executeTakeFirst();
    return row && toAttempt(row);
  }

  /** What one was made of, for another that shall be made of the same. */
  async made(sandbox: string, id: string): Promise<AttemptPlan> {
    const row = await this.#database.db
      .selectFrom('attempts')
      .select(['plan_digest', 'plan', 'build', 'from_image', 'sources'])
      .where('id', '=', id)
      .executeTakeFirst();
    const fromImage = row?.from_image ?? (row?.plan_digest ? undefined : (await this.image(sandbox))?.digest);
    return {
      planDigest: row?.plan_digest ?? undefined,
      plan: row?.plan ? JSON.parse(row.plan) : undefined,
      build: (row?.build as Id<'build'> | null) ?? undefined,
      fromImage,
      sources: row?.sources ? JSON.parse(row.sources) : undefined,
    };
  }

  /** Adds what became known of it. */
  async learn(id: string, made: AttemptPlan): Promise<void> {
    const columns = planColumns(made);
    if (Object.keys(columns).length === 0) return;
    await this.#database.db.updateTable('attempts').set(columns).where('id', '=', id).execute();
  }

  /** The image that the files of a sandbox began from, where it ever had one. */
  async image(sandbox: string): Promise<AttemptImage | undefined> {
    const row = await this.#database.db
      .selectFrom('attempts')
      .select('image')
      .where('sandbox', '=', sandbox)
      .where('image', 'is not', null)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row?.image ? (JSON.parse(row.image) as AttemptImage) : undefined;
  }

  /** Newest first. */
  async list(sandbox: string, limit: number, after?: string): Promise<AttemptSummary[]> {
    let query = this.#database.db.selectFrom('attempts').select(summaryColumns).where('sandbox', '=', sandbox);
    if (after !== undefined) query = query.where('id', '<', after);
    const rows = await query.orderBy('id', 'desc').limit(limit).execute();
    return rows.map(toSummary);
  }
}

const summaryColumns = [
  'id',
  'sandbox',
  'incarnation',
  'action',
  'state',
  'reason_code',
  'reason_message',
  'driver',
  'blueprint_digest',
  'from_snapshot',
  'started_at',
  'ended_at',
] as const;

type AttemptRow = Selectable<AttemptTable>;

function toAttempt(row: AttemptRow): Attempt {
  const [spec, resolvedSpec, blueprint] = [row.spec, row.resolved_spec, row.blueprint].map((text) => JSON.parse(text));
  const image = row.image === null ? row.from_image : (JSON.parse(row.image) as AttemptImage).digest;
  const made = {
    planDigest: row.plan_digest,
    plan: row.plan === null ? null : JSON.parse(row.plan),
    build: row.build as Id<'build'> | null,
    image,
    sources: row.sources === null ? null : JSON.parse(row.sources),
  };
  return { ...toSummary(row), spec, resolvedSpec, blueprint, ...made };
}

function toSummary(row: Pick<AttemptRow, (typeof summaryColumns)[number]>): AttemptSummary {
  return {
    id: row.id as Id<'attempt'>,
    sandbox: row.sandbox as Id<'sandbox'>,
    incarnation: row.incarnation,
    action: row.action as Attempt['action'],
    state: row.state as Attempt['state'],
    reason:
      row.reason_code === null ? null : { code: row.reason_code as ReasonCode, message: row.reason_message ?? '' },
    driver: row.driver,
    blueprintDigest: row.blueprint_digest,
    fromSnapshot: row.from_snapshot as Id<'snapshot'> | null,
    startedAt: isoTime(row.started_at),
    endedAt: isoTime(row.ended_at),
  };
}
