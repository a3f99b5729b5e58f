import {
  type ActionName,
  CaissonError,
  type CaissonEvent,
  type Id,
  type Labels,
  type LeaseTerms,
  type Owner,
  type Reason,
  refusal,
  type Sandbox,
  type SandboxPolicy,
  type SandboxState,
  type SelfCheck,
  type Standing,
  type Step,
  systemOwner,
  transientStates,
  transition,
} from '@caisson/contract';
import { sql } from 'kysely';
import { type AttemptOutcome, endAttempt, insertAttempt, type NewAttempt } from './attempts.ts';
import type { Database, Queries } from './database.ts';
import type { EventListener, EventLog, NotedType } from './events.ts';
import { followState } from './follow-state.ts';
import { type IdempotentRequest, insertIdempotency } from './idempotency.ts';
import { endInstance, insertInstance, type NewInstance } from './instances.ts';
import { insertLabels } from './labels.ts';
import { type LeaseChange, leaseStill, type SeenLease, steppedLeaseColumns } from './lease-columns.ts';
import { type Limits, takePlace } from './limits.ts';
import type { PayTerms } from './meters.ts';
import { newRow, rollbackTarget } from './new-sandbox-row.ts';
import { type SandboxRow, toSandbox } from './sandbox-row.ts';
import { inheritRules } from './sandbox-rules.ts';
import type { SandboxSize } from './sandbox-size.ts';
import { sandboxTransaction } from './sandbox-transaction.ts';
import { requireSnapshot } from './snapshot-use.ts';
import { statement } from './statement.ts';
import { type Applied, tellState } from './tell-state.ts';

export type { Applied } from './tell-state.ts';

export interface NewSandbox {
  readonly id: Id<'sandbox'>;
  readonly owner: Owner;
  readonly name: string | null;
  readonly slot: string | null;
  readonly profile: { readonly name: string; readonly version: number } | null;
  readonly labels: Labels;
  readonly driver: string;
  readonly notices: readonly string[];
  readonly host: string;
  readonly blueprintDigest: string;
  readonly persistence: 'ephemeral' | 'persistent';
  readonly expiresAt: number | null;
  readonly lease?: LeaseTerms;
  readonly policy: SandboxPolicy;
  readonly origin?: Sandbox['origin'];
  /** The snapshot that its files are equal to when it begins. */
  readonly head?: Id<'snapshot'> | null;
  /** The warm pool that it is made for. */
  readonly pool?: string;
  readonly size?: SandboxSize;
  readonly terms?: PayTerms;
}

/** What changes in the record together with a step. */
export interface StepChange {
  readonly reason?: Reason | null;
  readonly notices?: readonly string[];
  /** A new try begins; with `raiseIncarnation` it is one of a new incarnation. */
  readonly attempt?: NewAttempt;
  readonly raiseIncarnation?: boolean;
  readonly endAttempt?: AttemptOutcome;
  readonly instance?: NewInstance;
  readonly endInstance?: boolean;
  readonly lease?: LeaseChange | undefined;
  /** Refused with `state_changed` when its lease is not this any more. */
  readonly ifLease?: SeenLease | undefined;
  /** Where a rollback leads; with the end of one, where its files are now. */
  readonly rollbackTo?: Id<'snapshot'> | null;
  readonly head?: Id<'snapshot'> | null;
  readonly idempotency?: IdempotentRequest | undefined;
  /** What it found when it looked at itself: an event of its own, before that of the step. */
  readonly checked?: SelfCheck;
}

export interface SandboxFilter {
  readonly tenant: string;
  readonly project: string;
  readonly principal?: string | undefined;
  readonly states?: readonly SandboxState[] | undefined;
  readonly destroyedToo: boolean;
  readonly profile?: string | undefined;
  readonly name?: string | undefined;
  readonly labels?: readonly (readonly [string, string])[] | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

export type SandboxKey = Pick<Sandbox, 'id' | 'incarnation' | 'driver'>;

/** Sandboxes and their states. Every change of state is one compare-and-set and its event, in one transaction. */
export class SandboxStore {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #committed: EventListener;

  constructor(database: Database, events: EventLog, committed: EventListener) {
    this.#database = database;
    this.#events = events;
    this.#committed = committed;
  }

  async create(
    sandbox: NewSandbox,
    attempt: NewAttempt,
    limits: Limits,
    idempotency?: IdempotentRequest,
  ): Promise<Applied> {
    const now = Date.now();
    const applied = await sandboxTransaction(this.#database, async (tx) => {
      if (idempotency) await insertIdempotency(tx, idempotency, sandbox.id, now);
      if (attempt.fromSnapshot) await requireSnapshot(tx, attempt.fromSnapshot);
      const row = await tx
        .insertInto('sandboxes')
        .values(newRow(sandbox, attempt.id, now))
        .returningAll()
        .executeTakeFirstOrThrow();
      await insertLabels(tx, sandbox.id, sandbox.labels);
      if (sandbox.origin) await inheritRules(tx, sandbox, sandbox.origin.sandbox, now);
      await insertAttempt(tx, attempt, row, now);
      // After the record, as at its end: two transactions that lock in another order wait for each other.
      await takePlace(tx, row, limits, now, sandbox.terms);
      return this.#tell(tx, row, null, null);
    });
    this.#committed(applied.event, applied.sandbox);
    return applied;
  }

  async get(id: string): Promise<Sandbox | undefined> {
    const [row] = await getById(this.#database.db, { id });
    return row && toSandbox(row);
  }

  /**
   * Applies one step of an action to the sandbox as the caller saw it. Refused with the code of the present state when
   * the table does not allow it, and with `state_changed` when the sandbox is no longer as the caller saw it.
   */
  async step(
    seen: Pick<Sandbox, 'id' | 'state' | 'action' | 'incarnation'>,
    step: Step,
    change: StepChange = {},
  ): Promise<Applied> {
    const answer = transition(seen, step);
    if (!answer.ok) throw new CaissonError(answer.code, `${seen.id} is ${seen.state}: it cannot ${step.action} now`);
    const now = Date.now();
    const applied = await sandboxTransaction(this.#database, async (tx) => {
      if (change.idempotency) await insertIdempotency(tx, change.idempotency, seen.id, now);
      if (change.rollbackTo) await requireSnapshot(tx, change.rollbackTo);
      const row = await this.#compareAndSet(tx, seen, step.action, answer.standing, change, now);
      if (change.attempt) await insertAttempt(tx, change.attempt, row, now);
      if (change.endAttempt && row.attempt) await endAttempt(tx, row.attempt, change.endAttempt, now);
      if (change.instance) await insertInstance(tx, row, change.instance, now);
      if (change.endInstance) await endInstance(tx, row.id, row.incarnation, now);
      await followState(tx, row, now);
      const checked = change.checked && (await this.#tellChecked(tx, row, change.checked));
      return { ...(await this.#tell(tx, row, seen.state, step.action)), checked };
    });
    if (applied.checked) this.#committed(applied.checked);
    this.#committed(applied.event, applied.sandbox);
    return applied;
  }

  /** An event about a sandbox that does not change its state, such as a repair. */
  async note(id: Id<'sandbox'>, type: NotedType, data: Record<string, unknown>): Promise<void> {
    const event = await sandboxTransaction(this.#database, async (tx) => {
      const row = await tx
        .updateTable('sandboxes')
        .set((eb) => ({ sequence: eb('sequence', '+', 1) }))
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      if (!row) return undefined;
      const { sequence, tenant, project } = row;
      return this.#events.append(tx, { type, subject: id, sequence, tenant, project, time: Date.now(), data });
    });
    if (event) this.#committed(event);
  }

  async list(filter: SandboxFilter): Promise<Sandbox[]> {
    let query = this.#database.db
      .selectFrom('sandboxes')
      .selectAll()
      .where('tenant', '=', filter.tenant)
      .where('project', '=', filter.project);
    // Spelled exactly like the partial index, or the planner will not take it.
    if (!filter.destroyedToo) query = query.where(sql<boolean>`state <> 'destroyed'`);
    if (filter.after !== undefined) query = query.where('id', '<', filter.after);
    if (filter.principal !== undefined) query = query.where('principal', '=', filter.principal);
    if (filter.states !== undefined) query = query.where('state', 'in', filter.states);
    if (filter.profile !== undefined) query = query.where('profile_name', '=', filter.profile);
    if (filter.name !== undefined) query = query.where('name', '=', filter.name);
    for (const [key, value] of filter.labels ?? []) {
      query = query.where((eb) =>
        eb.exists(
          eb
            .selectFrom('sandbox_labels')
            .select('sandbox_labels.sandbox')
            .whereRef('sandbox_labels.sandbox', '=', 'sandboxes.id')
            .where('sandbox_labels.key', '=', key)
            .where('sandbox_labels.value', '=', value),
        ),
      );
    }
    const rows = await query.orderBy('id', 'desc').limit(filter.limit).execute();
    return rows.map(toSandbox);
  }

  /** The newest living sandbox that `ensure` means. */
  async find(owner: Owner, profile: string | null, name: string | null): Promise<Sandbox | undefined> {
    const row = await this.#database.db
      .selectFrom('sandboxes')
      .selectAll()
      .where('tenant', '=', owner.tenant)
      .where('project', '=', owner.project)
      .where('principal', '=', owner.principal)
      .where('scope', owner.scope === undefined ? 'is' : '=', owner.scope ?? null)
      .where('profile_name', profile === null ? 'is' : '=', profile)
      .where('name', name === null ? 'is' : '=', name)
      // A fork of it is of the same kind, and another one.
      .where((eb) => eb.or([eb('origin_sandbox', 'is', null), eb('name', 'is not', null)]))
      .where(sql<boolean>`state <> 'destroyed'`)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row && toSandbox(row);
  }

  /** What some action left, or will leave, in a state that is not its own: the reconciler's work. */
  async unsettled(limit: number): Promise<Sandbox[]> {
    const states = ['requested', ...transientStates];
    const rows = await this.#database.db
      .selectFrom('sandboxes')
      .selectAll()
      .where('state', 'in', states)
      .limit(limit)
      .execute();
    return rows.map(toSandbox);
  }

  /** Those in one state, in pages by id. */
  async inState(state: SandboxState, after: string, limit: number): Promise<Sandbox[]> {
    const rows = await this.#database.db
      .selectFrom('sandboxes')
      .selectAll()
      .where('state', '=', state)
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map(toSandbox);
  }

  /** The same, and no more of each than tells its instance: for whoever looks at all of them every few seconds. */
  async keysInState(state: SandboxState, after: string, limit: number): Promise<SandboxKey[]> {
    const rows = await this.#database.db
      .selectFrom('sandboxes')
      .select(['id', 'incarnation', 'driver'])
      .where('state', '=', state)
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows as SandboxKey[];
  }

  /** Those that are ready and pause when nobody uses them, in pages by id. Few have it; the others are not read. */
  async thatIdle(after: string, limit: number): Promise<Sandbox[]> {
    const rows = await this.#database.db
      .selectFrom('sandboxes')
      .selectAll()
      .where('state', '=', 'ready')
      .where('policy', 'not like', '%"autoPauseSeconds":null%')
      .where('id', '>', after)
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map(toSandbox);
  }

  /** Those that are not destroyed and not being destroyed. */
  async living(limit: number): Promise<Sandbox[]> {
    const rows = await this.#database.db
      .selectFrom('sandboxes')
      .selectAll()
      .where('state', 'not in', ['destroying', 'destroyed'])
      .limit(limit)
      .execute();
    return rows.map(toSandbox);
  }

  /** Those that stand since before a time, oldest first; of one tenant, or of all but the system. */
  async aged(before: number, limit: number, tenant?: string): Promise<Sandbox[]> {
    let query = this.#database.db.selectFrom('sandboxes').selectAll().where('created_at', '<', before);
    query = query.where('tenant', tenant === undefined ? '<>' : '=', tenant ?? systemOwner.tenant);
    const rows = await query.where(sql<boolean>`state <> 'destroyed'`).orderBy('created_at').limit(limit).execute();
    return rows.map(toSandbox);
  }

  /** Those that are somebody's: members of warm pools are counted apart. */
  async countByState(): Promise<Record<string, number>> {
    const rows = await this.#database.db
      .selectFrom('sandboxes')
      .select(['state', (eb) => eb.fn.countAll().as('count')])
      .where('tenant', '<>', systemOwner.tenant)
      .groupBy('state')
      .execute();
    return Object.fromEntries(rows.map((row) => [row.state, Number(row.count)]));
  }

  async #compareAndSet(
    tx: Queries,
    seen: Pick<Sandbox, 'id' | 'state' | 'action' | 'incarnation'>,
    action: ActionName,
    next: Standing,
    change: StepChange,
    now: number,
  ) {
    const raised = change.raiseIncarnation ? 1 : 0;
    const row = await tx
      .updateTable('sandboxes')
      .set((eb) => ({
        state: next.state,
        action: next.action,
        sequence: eb('sequence', '+', change.checked ? 2 : 1),
        incarnation: eb('incarnation', '+', raised),
        updated_at: now,
        ...(next.state === 'ready' ? { ready_at: now } : {}),
        ...(change.reason === undefined
          ? {}
          : { reason_code: change.reason?.code ?? null, reason_message: change.reason?.message ?? null }),
        ...(change.notices === undefined ? {} : { notices: JSON.stringify(change.notices) }),
        ...(change.attempt === undefined ? {} : { attempt: change.attempt.id }),
        ...steppedLeaseColumns(next.state, change.lease, now),
        ...rollbackTarget(action, change),
        ...(change.head === undefined ? {} : { head: change.head }),
      }))
      .where('id', '=', seen.id)
      .where('state', '=', seen.state)
      .where('incarnation', '=', seen.incarnation)
      .where('action', seen.action === null ? 'is' : '=', seen.action)
      .where(leaseStill(change.ifLease))
      .returningAll()
      .executeTakeFirst();
    if (row) return row;
    const present = await tx.selectFrom('sandboxes').select('state').where('id', '=', seen.id).executeTakeFirst();
    if (!present) throw new CaissonError('sandbox_not_found', `there is no sandbox ${seen.id}`);
    const state = present.state as SandboxState;
    const code = state === 'destroying' || state === 'destroyed' ? refusal(state) : 'state_changed';
    throw new CaissonError(code, `${seen.id} was ${seen.state} and is ${state} now`);
  }

  async #tellChecked(tx: Queries, row: SandboxRow, data: SelfCheck): Promise<CaissonEvent> {
    const { id, tenant, project, sequence, updated_at: time } = row;
    const event = {
      type: 'caisson.sandbox.checked',
      subject: id,
      sequence: sequence - 1,
      tenant,
      project,
      time,
      data,
    } as const;
    return this.#events.append(tx, event);
  }

  #tell(tx: Queries, row: SandboxRow, from: SandboxState | null, cause: ActionName | null): Promise<Applied> {
    return tellState(this.#events, tx, row, from, cause);
  }
}

const getById = statement((queries, { id }: { id: string }) =>
  queries.selectFrom('sandboxes').selectAll().where('id', '=', id),
);
