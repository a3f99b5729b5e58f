import { type Id, type Sandbox, systemOwner } from '@caisson/contract';
import type { ExpressionBuilder } from 'kysely';
import { type AttemptImage, type NewAttempt, replaceInputs } from './attempts.ts';
import type { Database } from './database.ts';
import type { EventListener, EventLog } from './events.ts';
import { type IdempotentRequest, insertIdempotency } from './idempotency.ts';
import { insertLabels } from './labels.ts';
import { type LeaseRow, newLeaseColumns, noLease } from './lease-columns.ts';
import { type Limits, takeTenantPlace } from './limits.ts';
import { type SandboxRow, toSandbox } from './sandbox-row.ts';
import { sandboxTransaction } from './sandbox-transaction.ts';
import type { NewSandbox } from './sandboxes.ts';
import type { Schema } from './schema.ts';
import { statement } from './statement.ts';

export interface PoolBounds {
  readonly min: number;
  readonly max: number;
}

/** A sandbox of the system. Without a pool it has left, and waits for its end. */
export interface Member {
  readonly sandbox: Sandbox;
  readonly pool: string | null;
  /** The digest of the image that its files began from, once it has any. */
  readonly image: string | undefined;
}

/** A member as it was last seen. It can be claimed for as long as its pool and its attempt are these. */
export interface ClaimableMember {
  readonly id: Id<'sandbox'>;
  readonly pool: string;
  readonly attempt: Id<'attempt'>;
  readonly notices: readonly string[];
}

/** What a member becomes: everything of a new sandbox but what it is made of, which it has. */
export type NewOwner = Pick<
  NewSandbox,
  'owner' | 'name' | 'slot' | 'profile' | 'labels' | 'notices' | 'expiresAt' | 'lease' | 'policy'
>;

/**
 * Members of warm pools.
 *
 * Laws
 * - A member has the system as its owner and a pool. It leaves its pool once: by `claim`, which gives it an owner, or by
 *   `leave`, after which it can only be ended. Both compare and set, so no member is claimed twice or ended when claimed.
 * - A claim that fails leaves the member in its pool, as it was.
 */
export class PoolStore {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #committed: EventListener;

  constructor(database: Database, events: EventLog, committed: EventListener) {
    this.#database = database;
    this.#events = events;
    this.#committed = committed;
  }

  /**
   * Gives a ready member its owner, in one transaction with its event. Undefined when it is not there to be had, or when
   * `isAlive` turns out false by the end of it: whether it answers is asked while this is written.
   */
  async claim(
    { id, pool, attempt: made, notices }: ClaimableMember,
    to: NewOwner,
    attempt: NewAttempt,
    limits: Limits,
    options: { readonly idempotency?: IdempotentRequest | undefined; readonly isAlive?: Promise<boolean> } = {},
  ): Promise<Sandbox | undefined> {
    const { idempotency, isAlive } = options;
    const now = Date.now();
    const claimed = await sandboxTransaction(this.#database, async (tx) => {
      const [row] = await giveOwner(tx, {
        id,
        pool,
        attempt: made,
        tenant: to.owner.tenant,
        project: to.owner.project,
        principal: to.owner.principal,
        scope: to.owner.scope ?? null,
        name: to.name,
        slot: to.slot,
        profileName: to.profile?.name ?? null,
        profileVersion: to.profile?.version ?? null,
        labels: JSON.stringify(to.labels),
        notices: JSON.stringify([...new Set([...to.notices, ...notices])]),
        policy: JSON.stringify(to.policy),
        expiresAt: to.expiresAt,
        ...newLeaseColumns(to.lease ?? noLease, to.expiresAt, now),
        now,
      });
      if (!row) return undefined;
      if (idempotency) await insertIdempotency(tx, idempotency, id, now);
      await insertLabels(tx, id, to.labels);
      await replaceInputs(tx, made, attempt, to.owner.tenant);
      await takeTenantPlace(tx, to.owner.tenant, limits, now);
      const { sequence, tenant, project } = row;
      const data = { pool: profileOf(pool), owner: to.owner };
      if ((await isAlive) === false) throw new DeadMember();
      const type = 'caisson.sandbox.claimed';
      const event = await this.#events.append(tx, { type, subject: id, sequence, tenant, project, time: now, data });
      return { sandbox: toSandbox(row), event };
    }).catch((error) => {
      if (error instanceof DeadMember) return undefined;
      throw error;
    });
    if (claimed) this.#committed(claimed.event, claimed.sandbox);
    return claimed?.sandbox;
  }

  /** Nobody can claim it from here on. Undefined when it is not the system's any more. */
  async leave(id: Id<'sandbox'>): Promise<Sandbox | undefined> {
    const row = await this.#database.db
      .updateTable('sandboxes')
      .set({ pool: null })
      .where('id', '=', id)
      .where('tenant', '=', systemOwner.tenant)
      .where('state', '<>', 'destroyed')
      .returningAll()
      .executeTakeFirst();
    return row && toSandbox(row);
  }

  /** Everything that is the system's, oldest first. Pools are bounded, and so is this. */
  async members(): Promise<Member[]> {
    const rows = await this.#select().where('state', '<>', 'destroyed').orderBy('sandboxes.id').execute();
    return rows.map(toMember);
  }

  async member(id: string): Promise<Member | undefined> {
    const row = await this.#select().where('sandboxes.id', '=', id).executeTakeFirst();
    return row && toMember(row);
  }

  /** The bounds that somebody set, by the name of the profile. */
  async bounds(): Promise<Map<string, PoolBounds>> {
    const rows = await this.#database.db.selectFrom('pools').selectAll().execute();
    return new Map(rows.map((row) => [row.profile, { min: row.min_members, max: row.max_members }]));
  }

  async setBounds(profile: string, { min, max }: PoolBounds): Promise<void> {
    const values = { min_members: min, max_members: max, updated_at: Date.now() };
    await this.#database.db
      .insertInto('pools')
      .values({ profile, ...values })
      .onConflict((conflict) => conflict.column('profile').doUpdateSet(values))
      .execute();
  }

  #select() {
    const imageOf = (eb: ExpressionBuilder<Schema, 'sandboxes'>) =>
      eb.selectFrom('attempts').select('image').whereRef('attempts.id', '=', 'sandboxes.attempt').as('image');
    return this.#database.db
      .selectFrom('sandboxes')
      .selectAll()
      .select(imageOf)
      .where('tenant', '=', systemOwner.tenant);
  }
}

interface OwnerValues extends LeaseRow {
  readonly id: string;
  readonly pool: string;
  readonly attempt: string;
  readonly tenant: string;
  readonly project: string;
  readonly principal: string;
  readonly scope: string | null;
  readonly name: string | null;
  readonly slot: string | null;
  readonly profileName: string | null;
  readonly profileVersion: number | null;
  readonly labels: string;
  readonly notices: string;
  readonly policy: string;
  readonly expiresAt: number | null;
  readonly now: number;
}

const giveOwner = statement((queries, to: OwnerValues) =>
  queries
    .updateTable('sandboxes')
    .set((eb) => ({
      tenant: to.tenant,
      project: to.project,
      principal: to.principal,
      scope: to.scope,
      name: to.name,
      slot: to.slot,
      profile_name: to.profileName,
      profile_version: to.profileVersion,
      labels: to.labels,
      notices: to.notices,
      policy: to.policy,
      pool: null,
      sequence: eb('sequence', '+', 1),
      created_at: to.now,
      updated_at: to.now,
      ready_at: to.now,
      expires_at: to.expiresAt,
      ttl_seconds: to.ttl_seconds,
      max_ttl_seconds: to.max_ttl_seconds,
      idle_seconds: to.idle_seconds,
      warn_seconds: to.warn_seconds,
      at_expiry: to.at_expiry,
      leased_at: to.leased_at,
      warn_at: to.warn_at,
      idle_at: to.idle_at,
    }))
    .where('id', '=', to.id)
    .where('pool', '=', to.pool)
    .where('attempt', '=', to.attempt)
    .where('state', '=', 'ready')
    .where('action', 'is', null)
    .returningAll(),
);

/** Takes back what a claim has written so far. */
class DeadMember extends Error {}

function toMember(row: SandboxRow & { image: string | null }): Member {
  const image = row.image === null ? undefined : (JSON.parse(row.image) as AttemptImage).digest;
  return { sandbox: toSandbox(row), pool: row.pool, image };
}

/** A pool is named by its profile and what its members are made of; the profile comes first. */
function profileOf(pool: string): string {
  return pool.split(' ', 1)[0] ?? pool;
}
