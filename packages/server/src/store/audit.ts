import type { AuditEntry, Id } from '@caisson/contract';
import type { Insertable, Selectable } from 'kysely';
import type { Database } from './database.ts';
import { isoTime } from './sandbox-row.ts';
import type { AuditTable } from './tenancy-schema.ts';

export type NewAuditRow = Omit<Insertable<AuditTable>, 'position'>;

export interface AuditFilter {
  readonly tenant?: string | undefined;
  readonly principal?: string | undefined;
  /** One name, or what it begins with when it ends in a dot. */
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only after this position. */
  readonly after: number;
  readonly limit: number;
}

/** Both engines bound the values of a statement; a row has 16. */
const rowsPerInsert = 500;
/** What goes at once: a longer removal would keep others waiting. */
const rowsPerPrune = 5_000;

/**
 * The audit log. One writer, one batch after the other, so positions rise in the order of commit. The database refuses to
 * change a row, and to remove one that is not older than what is kept.
 */
export class AuditStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** All or none of them. One that is there already is left as it is: whoever is not sure writes again. */
  async insert(rows: readonly NewAuditRow[]): Promise<void> {
    await this.#database.db.transaction().execute(async (tx) => {
      for (let at = 0; at < rows.length; at += rowsPerInsert) {
        await tx
          .insertInto('audit')
          .values(rows.slice(at, at + rowsPerInsert))
          .onConflict((conflict) => conflict.column('id').doNothing())
          .execute();
      }
    });
  }

  /** Oldest first. */
  async list(filter: AuditFilter): Promise<AuditEntry[]> {
    const { action } = filter;
    let query = this.#database.db.selectFrom('audit').selectAll().where('position', '>', filter.after);
    if (filter.tenant !== undefined) query = query.where('tenant', '=', filter.tenant);
    if (filter.principal !== undefined) query = query.where('principal', '=', filter.principal);
    if (filter.subject !== undefined) query = query.where('subject', '=', filter.subject);
    if (filter.since !== undefined) query = query.where('time', '>=', filter.since);
    if (filter.until !== undefined) query = query.where('time', '<', filter.until);
    // `/` is the character after the dot.
    if (action?.endsWith('.'))
      query = query.where('action', '>=', action).where('action', '<', `${action.slice(0, -1)}/`);
    else if (action !== undefined) query = query.where('action', '=', action);
    const rows = await query.orderBy('position').limit(filter.limit).execute();
    return rows.map(toEntry);
  }

  /** Removes what is older than a time. The database allows it only because the time is written down first. */
  async keepSince(time: number): Promise<void> {
    const { db } = this.#database;
    await db
      .insertInto('meta')
      .values({ key: 'audit_kept_since', value: String(time) })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: String(time) }))
      .execute();
    for (;;) {
      const old = await db
        .selectFrom('audit')
        .select('position')
        .where('time', '<', time)
        .limit(rowsPerPrune)
        .execute();
      if (old.length === 0) return;
      const last = Math.max(...old.map(({ position }) => position));
      await db.deleteFrom('audit').where('time', '<', time).where('position', '<=', last).execute();
    }
  }
}

function toEntry(row: Selectable<AuditTable>): AuditEntry {
  const { time, id, actor, key, ...rest } = row;
  return {
    ...rest,
    id: id as Id<'audit'>,
    time: isoTime(time),
    actor: actor as AuditEntry['actor'],
    key: key as Id<'key'> | null,
  };
}
