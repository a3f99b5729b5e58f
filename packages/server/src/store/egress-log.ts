import type { EgressRecord } from '@caisson/contract';
import type { Insertable, Selectable } from 'kysely';
import type { Database, Queries } from './database.ts';
import { isoTime } from './sandbox-row.ts';
import type { EgressLogTable } from './schema.ts';

export type NewEgressRow = Omit<Insertable<EgressLogTable>, 'position'>;

export interface EgressFilter {
  readonly sandbox: string;
  readonly verdict?: EgressRecord['verdict'] | undefined;
  /** Only after this position. */
  readonly after: number;
  readonly limit: number;
}

/** Both engines bound the values of a statement; a row has a dozen. */
export const rowsPerInsert = 500;

export async function insertEgressRows(tx: Queries, rows: readonly NewEgressRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    await tx
      .insertInto('egress_log')
      .values(rows.slice(at, at + rowsPerInsert))
      .execute();
  }
}

/**
 * What was decided on the way out. One journal writes, one batch after the other, so positions rise in the order of
 * commit and a reader that goes on after the last one it saw misses nothing.
 */
export class EgressLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Oldest first. */
  async list({ sandbox, verdict, after, limit }: EgressFilter): Promise<EgressRecord[]> {
    let query = this.#database.db
      .selectFrom('egress_log')
      .selectAll()
      .where('sandbox', '=', sandbox)
      .where('position', '>', after);
    if (verdict !== undefined) query = query.where('verdict', '=', verdict);
    const rows = await query.orderBy('position').limit(limit).execute();
    return rows.map(toRecord);
  }

  /** The position of the newest row of a sandbox, or 0. */
  async end(sandbox: string): Promise<number> {
    const row = await this.#database.db
      .selectFrom('egress_log')
      .select((eb) => eb.fn.max('position').as('end'))
      .where('sandbox', '=', sandbox)
      .executeTakeFirst();
    return Number(row?.end ?? 0);
  }

  /** Leaves the newest of a sandbox. */
  async prune(sandbox: string, keep: number): Promise<void> {
    const { db } = this.#database;
    const oldest = await db
      .selectFrom('egress_log')
      .select('position')
      .where('sandbox', '=', sandbox)
      .orderBy('position', 'desc')
      .limit(1)
      .offset(keep)
      .executeTakeFirst();
    if (!oldest) return;
    await db.deleteFrom('egress_log').where('sandbox', '=', sandbox).where('position', '<=', oldest.position).execute();
  }
}

/** A row is ours and was checked when it was written. */
function toRecord(row: Selectable<EgressLogTable>): EgressRecord {
  return {
    position: row.position,
    time: isoTime(row.time),
    verdict: row.verdict as EgressRecord['verdict'],
    host: row.host,
    port: row.port,
    protocol: row.protocol as EgressRecord['protocol'],
    address: row.address,
    rule: row.rule,
    why: row.why as EgressRecord['why'],
    suggestion: row.suggestion,
    secrets: row.secrets === null ? [] : (JSON.parse(row.secrets) as string[]),
    count: row.count,
  };
}
