import type { BuildLogItem } from '@caisson/contract';
import { sql } from 'kysely';
import type { Database } from './database.ts';

export interface LogPart {
  readonly position: number;
  readonly bytes: number;
  readonly item: Omit<BuildLogItem, 'position'>;
}

/** Both engines bound the values of a statement; a row has four. */
const rowsPerInsert = 500;

/** What builds wrote, in order. One worker writes for each build; positions rise also from one try to the next. */
export class BuildLogStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The same position again replaces what is there. */
  async append(build: string, parts: readonly LogPart[]): Promise<void> {
    for (let at = 0; at < parts.length; at += rowsPerInsert) {
      const values = parts
        .slice(at, at + rowsPerInsert)
        .map(({ position, bytes, item }) => ({ build, position, bytes, item: JSON.stringify(item) }));
      await this.#database.db
        .insertInto('build_log')
        .values(values)
        .onConflict((conflict) =>
          conflict.columns(['build', 'position']).doUpdateSet((eb) => ({
            bytes: eb.ref('excluded.bytes'),
            item: eb.ref('excluded.item'),
          })),
        )
        .execute();
    }
  }

  /** Oldest first. */
  async list(build: string, after: number, limit: number): Promise<BuildLogItem[]> {
    const rows = await this.#database.db
      .selectFrom('build_log')
      .select(['position', 'item'])
      .where('build', '=', build)
      .where('position', '>', after)
      .orderBy('position')
      .limit(limit)
      .execute();
    return rows.map(({ position, item }) => ({ position, ...(JSON.parse(item) as LogPart['item']) }));
  }

  /** The last position that is taken; 0 before the first. */
  async last(build: string): Promise<number> {
    const row = await this.#database.db
      .selectFrom('build_log')
      .select((eb) => eb.fn.max('position').as('last'))
      .where('build', '=', build)
      .executeTakeFirst();
    return Number(row?.last ?? 0);
  }

  /** Removes what lies between two positions, without these. */
  async leaveOut(build: string, after: number, before: number): Promise<void> {
    await this.#database.db
      .deleteFrom('build_log')
      .where('build', '=', build)
      .where('position', '>', after)
      .where('position', '<', before)
      .execute();
  }

  /** Removes logs of builds that ended before a time, and their records but for those that name an image. */
  async prune(before: number): Promise<void> {
    const { db } = this.#database;
    const old = db.selectFrom('builds').select('id').where('ended_at', '<', before);
    await db.deleteFrom('build_log').where('build', 'in', old).execute();
    const jobs = db
      .selectFrom('builds')
      .select('job')
      .where('ended_at', '<', before)
      .where(sql<boolean>`state <> 'succeeded'`);
    await db.deleteFrom('jobs').where('id', 'in', jobs).execute();
    await db.deleteFrom('builds').where('ended_at', '<', before).where(sql<boolean>`state <> 'succeeded'`).execute();
  }
}
