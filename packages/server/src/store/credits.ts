import {
  CaissonError,
  type CreditBalance,
  type CreditKind,
  type CreditTransfer,
  type Id,
  type MeterPhase,
  maxCreditMicros,
} from '@caisson/contract';
import { sql } from 'kysely';
import { isSwitchedOff, offPrefix, switchCredits } from './credits-switch.ts';
import type { Database, Queries } from './database.ts';
import { retryDeadlocks } from './database-errors.ts';
import { move, wayOf } from './ledger.ts';
import { heldMeter, type Reading, ratesOf, readMeter } from './meters.ts';
import { isoTime } from './sandbox-row.ts';

const isMisfit = sql<boolean>`(hold_ms = 0) <> (exists (select 1 from meta where key = ${sql.lit(offPrefix)} || meters.tenant))`;

export interface Grant {
  readonly tenant: string;
  readonly amountMicros: number;
  readonly note?: string | undefined;
  readonly reference?: string | undefined;
}

/** Balances, the history of them, and the meters that run. The laws are in `ledger.ts` and `meters.ts`. */
export class CreditStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async balance(tenant: string): Promise<CreditBalance> {
    const row = await this.#database.db
      .selectFrom('tenants')
      .select(['credits', 'credits_held', 'credits_used', 'credits_unpaid'])
      .where('name', '=', tenant)
      .executeTakeFirst();
    const off = await isSwitchedOff(this.#database.db, tenant);
    return {
      tenant,
      limited: (row?.credits ?? null) !== null && !off,
      off,
      availableMicros: row?.credits ?? 0,
      heldMicros: row?.credits_held ?? 0,
      usedMicros: row?.credits_used ?? 0,
      unpaidMicros: row?.credits_unpaid ?? 0,
    };
  }

  /** From the first grant on, also one of nothing, a tenant is limited. The same reference counts once. */
  async grant({ tenant, amountMicros: amount, note, reference }: Grant, now: number = Date.now()): Promise<void> {
    await retryDeadlocks(() =>
      this.#database.db.transaction().execute(async (tx) => {
        // So that a reference cannot come twice at once.
        await holdTenant(tx, tenant, now);
        if (reference !== undefined) {
          const known = await tx
            .selectFrom('ledger')
            .select('amount')
            .where('tenant', '=', tenant)
            .where('account', '=', 'available')
            .where('reference', '=', reference)
            .executeTakeFirst();
          if (known?.amount === amount) return;
          if (known)
            throw new CaissonError('request_invalid', `the reference ${reference} was used for another amount`);
        }
        const { credits } = await tx
          .selectFrom('tenants')
          .select('credits')
          .where('name', '=', tenant)
          .executeTakeFirstOrThrow();
        const after = (credits ?? 0) + amount;
        if (after < 0)
          throw new CaissonError('insufficient_credits', `tenant ${tenant} has ${credits} micro-units to take back`, {
            context: { neededMicros: -amount, availableMicros: credits },
          });
        if (after > maxCreditMicros) throw new CaissonError('request_invalid', 'a tenant cannot have so many credits');
        await move(tx, { tenant, kind: 'grant', amount, note, reference }, now);
      }),
    );
  }

  /**
   * Whether the tenant pays from now on. One that never had credits is metered from here on. The meters that run are not
   * read by this: whoever asks for it settles each of `running` after it.
   */
  async switch(tenant: string, on: boolean, now: number = Date.now()): Promise<void> {
    await retryDeadlocks(() =>
      this.#database.db.transaction().execute(async (tx) => {
        await holdTenant(tx, tenant, now);
        await switchCredits(tx, tenant, on);
      }),
    );
  }

  /** Sandboxes of a tenant whose meters run. */
  async running(tenant: string): Promise<Id<'sandbox'>[]> {
    const query = this.#database.db.selectFrom('meters').select('sandbox').where('ended_at', 'is', null);
    const rows = await query.where('tenant', '=', tenant).orderBy('sandbox').execute();
    return rows.map(({ sandbox }) => sandbox as Id<'sandbox'>);
  }

  /** Newest first. */
  async history(
    tenant: string,
    filter: { readonly sandbox?: string | undefined; readonly before?: number | undefined; readonly limit: number },
  ): Promise<CreditTransfer[]> {
    let query = this.#database.db.selectFrom('ledger').selectAll().where('tenant', '=', tenant);
    // Of the two rows of a transfer the one that takes is written first; the one that gives stands for both.
    query = query.where((eb) =>
      eb.or(
        (['grant', 'hold', 'charge', 'release'] as const).map((kind) =>
          eb.and([eb('kind', '=', kind), eb('account', '=', wayOf(kind).to)]),
        ),
      ),
    );
    if (filter.sandbox !== undefined) query = query.where('sandbox', '=', filter.sandbox);
    if (filter.before !== undefined) query = query.where('position', '<', filter.before);
    const rows = await query.orderBy('position', 'desc').limit(filter.limit).execute();
    return rows.map((row) => ({
      position: row.position,
      id: row.transfer as Id<'entry'>,
      tenant: row.tenant,
      kind: row.kind as CreditKind,
      amountMicros: row.amount,
      ...wayOf(row.kind as CreditKind),
      sandbox: row.sandbox as Id<'sandbox'> | null,
      note: row.note,
      time: isoTime(row.created_at),
    }));
  }

  /**
   * Meters that run and cost something: not read since a time, low on what is held for them, or not yet as their tenant
   * was switched, because a server ended in between.
   */
  async due(before: number, limit: number, after = ''): Promise<Id<'sandbox'>[]> {
    const rows = await this.#database.db
      .selectFrom('meters')
      .select('sandbox')
      .where('ended_at', 'is', null)
      .where('sandbox', '>', after)
      .where((eb) => eb.or([eb('since', '<', before), eb('told_low', '=', 1), isMisfit]))
      .where((eb) =>
        eb.or(
          (['running', 'paused', 'stopped'] as const).map((phase) =>
            eb.and([eb('phase', '=', phase), eb(`${phase}_micros`, '>', 0)]),
          ),
        ),
      )
      .orderBy('sandbox')
      .limit(limit)
      .execute();
    return rows.map(({ sandbox }) => sandbox as Id<'sandbox'>);
  }

  /** Charges what a sandbox used by now. Undefined when there is nothing to read any more. */
  async settle(sandbox: string, now: number = Date.now()): Promise<Reading | undefined> {
    return retryDeadlocks(() =>
      this.#database.db.transaction().execute(async (tx) => {
        const meter = await heldMeter(tx, sandbox);
        const row = await tx.selectFrom('sandboxes').selectAll().where('id', '=', sandbox).executeTakeFirst();
        if (!meter || !row || row.state === 'destroyed') return undefined;
        const next = { phase: meter.phase as MeterPhase, rates: ratesOf(meter) };
        return readMeter(tx, meter, row, next, now, 'half');
      }),
    );
  }

  /** Meters whose sandbox has ended, or is not there at all: what they hold is given back. There is none by design. */
  async releaseOrphans(now: number = Date.now()): Promise<{ sandbox: string; tenant: string; released: number }[]> {
    const rows = await this.#database.db
      .selectFrom('meters')
      .leftJoin('sandboxes', 'sandboxes.id', 'meters.sandbox')
      .select('meters.sandbox')
      .where('meters.ended_at', 'is', null)
      .where((eb) => eb.or([eb('sandboxes.id', 'is', null), eb('sandboxes.state', '=', 'destroyed')]))
      .limit(200)
      .execute();
    const released = [];
    for (const { sandbox } of rows) {
      const one = await this.#release(sandbox, now);
      if (one) released.push(one);
    }
    return released;
  }

  async #release(sandbox: string, now: number) {
    return this.#database.db.transaction().execute(async (tx) => {
      const meter = await heldMeter(tx, sandbox);
      if (!meter) return undefined;
      const { tenant, held } = meter;
      await move(tx, { tenant, kind: 'release', amount: held, sandbox, note: 'its sandbox is gone' }, now);
      await tx.updateTable('meters').set({ held: 0, ended_at: now }).where('sandbox', '=', sandbox).execute();
      return { sandbox, tenant, released: held };
    });
  }
}

/** The row of a tenant that has credits from now on, held to the end of the transaction. */
async function holdTenant(tx: Queries, tenant: string, now: number): Promise<void> {
  await tx
    .insertInto('tenants')
    .values({ name: tenant, live_sandboxes: 0, created_at: now, credits: 0 })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ credits: sql`coalesce(tenants.credits, 0)` }))
    .execute();
}
