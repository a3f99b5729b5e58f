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
}

/** What of its image a sandbox needs besides its files. */
export interface AttemptImage {
  readonly digest: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the refs of its sources stood for: the same commits when it is made again. */
  readonly sources?: SourceFacts;
}

/** As it is kept with an attempt: plain JSON. */
export interface SourceFacts {
  /** The commit of the workspace's repository, or the digest of what else it is. */
  readonly commit?: string;
  /** The branch that the commit is of, where the ref is one or is absent: the workspace is on it. */
  readonly branch?: string;
  /** By the input's id: a commit for git, a digest for the others. */
  readonly inputs?: Readonly<Record<string, string>>;
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

/** Somebody took over what was made ahead: the inputs are theirs, and stand for the same blueprint. */
export async function replaceInputs(tx: Queries, id: string, attempt: NewAttempt, tenant: string): Promise<void> {
  await updateInputs(tx, {
    id,
    tenant,
    spec: JSON.stringify(attempt.spec),
    resolvedSpec: JSON.stringify(attempt.resolvedSpec),
    blueprint: JSON.stringify(attempt.blueprint),
    digest: attempt.blueprintDigest,
    route: attempt.route ? JSON.stringify({ ...attempt.route, claimed: true }) : null,
  });
}

interface Inputs {
  readonly id: string;
  readonly tenant: string;
  readonly spec: string;
  readonly resolvedSpec: string;
  readonly blueprint: string;
  readonly digest: string;
  readonly route: string | null;
}

const updateInputs = statement((queries, { id, tenant, spec, resolvedSpec, blueprint, digest, route }: Inputs) =>
  queries
    .updateTable('attempts')
    .set((eb) => ({
      tenant,
      spec,
      resolved_spec: resolvedSpec,
      blueprint,
      blueprint_digest: digest,
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
  return { ...toSummary(row), spec, resolvedSpec, blueprint };
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
