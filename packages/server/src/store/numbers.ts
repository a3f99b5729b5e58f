import { type CreditKind, creditKinds, systemOwner } from '@caisson/contract';
import { sql } from 'kysely';
import { offPrefix } from './credits-switch.ts';
import type { Database } from './database.ts';
import { wayOf } from './ledger.ts';
import { type CountedResource, countedColumns, countedResources } from './quotas.ts';

export interface CreditSums {
  readonly micros: Readonly<Record<'available' | 'held' | 'used' | 'unpaid', number>>;
  /** Tenants that have credits: those with something left, those with nothing, those that pay nothing now. */
  readonly tenants: Readonly<Record<'paying' | 'empty' | 'off', number>>;
}

export interface QuotaShare {
  /** The largest share that a tenant or project uses of its limit. */
  readonly share: number;
  /** How many use all of it. */
  readonly full: number;
}

/** On Postgres a transaction may commit after one that began later; none takes longer than this. */
const commitMs = 20_000;

/** Sums over everybody, for metrics: they tell nothing about anybody. Each is a read of few or indexed rows. */
export class StoreNumbers {
  readonly #database: Database;
  readonly #movements = new Map<CreditKind, number>(creditKinds.map((kind) => [kind, 0]));
  #counted: number | undefined;
  #counting: Promise<void> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  async credits(): Promise<CreditSums> {
    const { db } = this.#database;
    const off = sql<number>`exists (select 1 from meta where key = ${sql.lit(offPrefix)} || tenants.name)`;
    const rows = await db
      .selectFrom('tenants')
      .select(({ fn }) => [
        sql<string>`case when ${off} then 'off' when credits > 0 then 'paying' else 'empty' end`.as('standing'),
        fn.countAll().as('count'),
        fn.sum('credits').as('available'),
        fn.sum('credits_held').as('held'),
        fn.sum('credits_used').as('used'),
        fn.sum('credits_unpaid').as('unpaid'),
      ])
      .where('credits', 'is not', null)
      .groupBy('standing')
      .execute();
    const sum = (name: 'available' | 'held' | 'used' | 'unpaid') =>
      rows.reduce((all, row) => all + Number(row[name]), 0);
    const count = (standing: string) => Number(rows.find((row) => row.standing === standing)?.count ?? 0);
    return {
      micros: { available: sum('available'), held: sum('held'), used: sum('used'), unpaid: sum('unpaid') },
      tenants: { paying: count('paying'), empty: count('empty'), off: count('off') },
    };
  }

  /** Movements by kind since the first time that this was asked. Each look reads only what is new. */
  async movements(now: number = Date.now()): Promise<Record<string, number>> {
    const counting = this.#counting.then(() => this.#count(now));
    this.#counting = counting.catch(() => {});
    await counting;
    return Object.fromEntries(this.#movements);
  }

  async #count(now: number): Promise<void> {
    const { db, engine } = this.#database;
    const before = engine === 'postgres' ? now - commitMs : now + 1;
    if (this.#counted === undefined) {
      const row = await db
        .selectFrom('ledger')
        .select(({ fn }) => fn.max('position').as('end'))
        .executeTakeFirst();
      this.#counted = Number(row?.end ?? 0);
      return;
    }
    const rows = await db
      .selectFrom('ledger')
      .select(({ fn }) => ['kind', 'account', fn.countAll().as('count'), fn.max('position').as('end')])
      .where('position', '>', this.#counted)
      .where('created_at', '<', before)
      .groupBy(['kind', 'account'])
      .execute();
    for (const { kind, account, count, end } of rows) {
      this.#counted = Math.max(this.#counted, Number(end));
      const known = kind as CreditKind;
      // Of the two rows of a movement, one counts.
      if (account === wayOf(known).to) this.#movements.set(known, (this.#movements.get(known) ?? 0) + Number(count));
    }
  }

  /** Leases whose end has come and that have not ended, and since when the oldest. */
  async dueLeases(now: number = Date.now()): Promise<{ readonly due: number; readonly oldestSeconds: number }> {
    const row = await this.#database.db
      .selectFrom('sandboxes')
      .select(({ fn }) => [fn.countAll().as('count'), fn.min('expires_at').as('first')])
      .where(sql<boolean>`state <> 'destroyed'`)
      .where('tenant', '<>', systemOwner.tenant)
      .where('expires_at', '<=', now)
      .executeTakeFirst();
    const first = row?.first ?? null;
    return { due: Number(row?.count ?? 0), oldestSeconds: first === null ? 0 : (now - Number(first)) / 1000 };
  }

  async quotas(): Promise<Readonly<Record<CountedResource, QuotaShare>>> {
    const rows = await this.#database.db.selectFrom('quotas').selectAll().execute();
    const shareOf = (resource: CountedResource): QuotaShare => {
      const column = countedColumns[resource];
      const shares = rows.flatMap((row) => {
        const [used, max] = [row[`used_${column}`], row[`max_${column}`]];
        return max === null ? [] : [max === 0 ? 1 : used / max];
      });
      return { share: Math.max(0, ...shares), full: shares.filter((share) => share >= 1).length };
    };
    return Object.fromEntries(countedResources.map((name) => [name, shareOf(name)])) as never;
  }

  /** Records of usage that the hook has not told yet. */
  async untoldUsage(): Promise<number> {
    const { db } = this.#database;
    const row = await db
      .selectFrom('usage')
      .select(({ fn }) => fn.countAll().as('count'))
      .where(sql<boolean>`position > coalesce((select cast(value as bigint) from meta where key = 'usage_told'), 0)`)
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  }
}
