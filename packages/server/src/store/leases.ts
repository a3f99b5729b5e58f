import {
  CaissonError,
  type CaissonEvent,
  canUse,
  type Id,
  type LeaseTerms,
  refusal,
  type Sandbox,
  type SandboxState,
  systemOwner,
} from '@caisson/contract';
import { sql } from 'kysely';
import type { Database, Queries } from './database.ts';
import type { EventLog } from './events.ts';
import { type IdempotentRequest, insertIdempotency } from './idempotency.ts';
import { toLease, warnAt } from './lease-columns.ts';
import { isoTime, type SandboxRow, toSandbox } from './sandbox-row.ts';
import { sandboxTransaction } from './sandbox-transaction.ts';

/** What may be due, each with an index of its own. */
export const leaseTimes = ['warn_at', 'expires_at', 'idle_at'] as const;
export type LeaseTime = (typeof leaseTimes)[number];

/** A sandbox for which something is due, and since when. */
export interface DueLease {
  readonly sandbox: Sandbox;
  readonly at: number;
}

export interface LeaseExtension {
  readonly idempotency?: IdempotentRequest | undefined;
  /** Where the lease ends with it; throws when it may not. */
  end(lease: { readonly terms: LeaseTerms; readonly expiresAt: number | null; readonly begunAt: number }): number;
}

/**
 * Leases: when they end, and moving their ends.
 *
 * Law: an extension and the end of a lease each compare and set the record in one transaction. So either the lease was
 * extended and nothing ends, or the end has begun and the extension is refused.
 */
export class LeaseStore {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #committed: (event: CaissonEvent) => void;

  constructor(database: Database, events: EventLog, committed: (event: CaissonEvent) => void) {
    this.#database = database;
    this.#events = events;
    this.#committed = committed;
  }

  /** Those for which this is due, the earliest first. What is the system's has no lease. */
  async due(time: LeaseTime, now: number, limit: number): Promise<DueLease[]> {
    const rows = await this.#standing(time).where(time, '<=', now).orderBy(time).limit(limit).execute();
    return rows.map((row) => ({ sandbox: toSandbox(row), at: row[time] ?? now }));
  }

  /** When the next thing after a time is due; undefined when nothing is. */
  async next(after: number): Promise<number | undefined> {
    const found: number[] = [];
    for (const time of leaseTimes) {
      const row = await this.#standing(time).where(time, '>', after).orderBy(time).limit(1).executeTakeFirst();
      const at = row?.[time];
      if (at !== undefined && at !== null) found.push(at);
    }
    return found.length === 0 ? undefined : Math.min(...found);
  }

  /** Of one project: those whose lease ends until a time, the earliest first. */
  async ending(owner: { tenant: string; project: string }, until: number, limit: number): Promise<Sandbox[]> {
    const rows = await this.#standing('expires_at')
      .where('tenant', '=', owner.tenant)
      .where('project', '=', owner.project)
      .where('expires_at', '<=', until)
      .orderBy('expires_at')
      .limit(limit)
      .execute();
    return rows.map(toSandbox);
  }

  /** Moves the end of a lease, with its event. Refused with the code of the state when the end has begun. */
  async extend(id: Id<'sandbox'>, extension: LeaseExtension): Promise<Sandbox> {
    const now = Date.now();
    const { sandbox, event } = await sandboxTransaction(this.#database, async (tx) => {
      // The record first: whoever ends or extends the same lease waits here.
      const present = await this.#raise(tx, id);
      if (!present) throw new CaissonError('sandbox_not_found', `there is no sandbox ${id}`);
      const state = present.state as SandboxState;
      if (!canUse('extend', state))
        throw new CaissonError(refusal(state), `${id} is ${state}: its lease cannot be extended now`);
      if (present.reason_code === 'expired') throw new CaissonError('lease_ended', `the lease of ${id} has ended`);
      if (extension.idempotency) await insertIdempotency(tx, extension.idempotency, id, now);
      const terms = toLease(present);
      const expiresAt = extension.end({
        terms,
        expiresAt: present.expires_at,
        begunAt: present.leased_at ?? present.created_at,
      });
      const row = await tx
        .updateTable('sandboxes')
        .set({ expires_at: expiresAt, warn_at: warnAt(expiresAt, terms), updated_at: now })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      return { sandbox: toSandbox(row), event: await this.#told(tx, row, 'caisson.sandbox.lease', now) };
    });
    this.#committed(event);
    return sandbox;
  }

  /** Tells that a lease ends soon, once; nothing when it has ended by now, or its warning is not this one any more. */
  async warn({ sandbox, at }: DueLease, now: number): Promise<boolean> {
    return this.#tell(async (tx) => {
      const row = await tx
        .updateTable('sandboxes')
        .set((eb) => ({ warn_at: null, sequence: eb('sequence', '+', 1) }))
        .where('id', '=', sandbox.id)
        .where('warn_at', '=', at)
        .where('state', '<>', 'destroyed')
        .where('expires_at', '>', now)
        .returningAll()
        .executeTakeFirst();
      if (row) return this.#told(tx, row, 'caisson.sandbox.expiring', now);
      await tx
        .updateTable('sandboxes')
        .set({ warn_at: null })
        .where('id', '=', sandbox.id)
        .where('warn_at', '=', at)
        .execute();
      return undefined;
    });
  }

  /** The lease is over and leaves the sandbox as it is: there is nothing more to end. */
  async conclude(id: Id<'sandbox'>, seen: { expiresAt: number } | { idleAt: number }): Promise<boolean> {
    return this.#tell(async (tx) => {
      const isIdle = 'idleAt' in seen;
      const row = await tx
        .updateTable('sandboxes')
        .set((eb) =>
          isIdle
            ? { idle_at: null }
            : { expires_at: null, warn_at: null, idle_at: null, sequence: eb('sequence', '+', 1) },
        )
        .where('id', '=', id)
        .where('state', '<>', 'destroyed')
        .where(isIdle ? 'idle_at' : 'expires_at', '=', isIdle ? seen.idleAt : seen.expiresAt)
        .returningAll()
        .executeTakeFirst();
      return row && !isIdle ? this.#told(tx, row, 'caisson.sandbox.lease', Date.now()) : undefined;
    });
  }

  /** It was used since: it is looked at again then. */
  async idleUntil(id: Id<'sandbox'>, seen: number, until: number): Promise<void> {
    await this.#database.db
      .updateTable('sandboxes')
      .set({ idle_at: until })
      .where('id', '=', id)
      .where('idle_at', '=', seen)
      .execute();
  }

  /** The clock of the machine was set: idle times are counted in time that passed, not by the clock. */
  async shiftIdle(byMs: number): Promise<void> {
    await this.#database.db
      .updateTable('sandboxes')
      .set((eb) => ({ idle_at: eb('idle_at', '+', byMs) }))
      .where('idle_at', 'is not', null)
      .where(sql<boolean>`state <> 'destroyed'`)
      .execute();
  }

  /** Profiles of sandboxes that were made before leases had terms; null where there is none. */
  async profilesWithoutTerms(): Promise<Sandbox['profile'][]> {
    const rows = await this.#database.db
      .selectFrom('sandboxes')
      .select(['profile_name', 'profile_version'])
      .distinct()
      .where('at_expiry', 'is', null)
      .where(sql<boolean>`state <> 'destroyed'`)
      .execute();
    return rows.map((row) =>
      row.profile_name === null ? null : { name: row.profile_name, version: row.profile_version ?? 1 },
    );
  }

  /** Gives those of a profile their terms. Their ends stay where they are. */
  async setTerms(profile: Sandbox['profile'], terms: LeaseTerms): Promise<void> {
    const { ttlSeconds, maxTtlSeconds, idleSeconds, warnSeconds, atExpiry } = terms;
    let query = this.#database.db
      .updateTable('sandboxes')
      .set({
        ttl_seconds: ttlSeconds,
        max_ttl_seconds: maxTtlSeconds,
        idle_seconds: idleSeconds,
        warn_seconds: warnSeconds,
        at_expiry: atExpiry,
        warn_at: sql<number | null>`expires_at - cast(${warnSeconds === null ? null : warnSeconds * 1000} as bigint)`,
      })
      .where('at_expiry', 'is', null)
      .where(sql<boolean>`state <> 'destroyed'`);
    query = query.where('profile_name', profile === null ? 'is' : '=', profile?.name ?? null);
    if (profile !== null) query = query.where('profile_version', '=', profile.version);
    await query.execute();
  }

  /** Spelled like the partial indexes, or the planner will not take them. */
  #standing(time: LeaseTime) {
    const query = this.#database.db
      .selectFrom('sandboxes')
      .selectAll()
      .where(sql<boolean>`state <> 'destroyed'`)
      .where('tenant', '<>', systemOwner.tenant);
    return time === 'expires_at' ? query : query.where(time, 'is not', null);
  }

  async #raise(tx: Queries, id: Id<'sandbox'>): Promise<SandboxRow | undefined> {
    return tx
      .updateTable('sandboxes')
      .set((eb) => ({ sequence: eb('sequence', '+', 1) }))
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
  }

  async #told(
    tx: Queries,
    row: SandboxRow,
    type: 'caisson.sandbox.lease' | 'caisson.sandbox.expiring',
    time: number,
  ): Promise<CaissonEvent> {
    const { id: subject, tenant, project, sequence } = row;
    const expiresAt = isoTime(row.expires_at);
    const data = type === 'caisson.sandbox.lease' ? { expiresAt } : { expiresAt, atExpiry: toLease(row).atExpiry };
    return this.#events.append(tx, { type, subject, sequence, tenant, project, time, data });
  }

  /** Answers whether there was something to tell. */
  async #tell(work: (tx: Queries) => Promise<CaissonEvent | undefined>): Promise<boolean> {
    const event = await sandboxTransaction(this.#database, work);
    if (event) this.#committed(event);
    return event !== undefined;
  }
}
