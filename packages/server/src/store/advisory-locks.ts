import { sql } from 'kysely';
import type { Queries } from './database.ts';

/**
 * What servers and transactions take turns by on Postgres, in one place: two purposes with one number wait for each other.
 *
 * - `migration`: one server at a time brings the tables to its version.
 * - `events`, `usage`: positions rise in the order of commit, so whoever follows them passes none that is filled in later.
 * - `server`: held by a server for as long as it lives; never to be waited for.
 */
export const advisoryLocks = {
  migration: 7_205_759_403,
  events: 7_205_759_404,
  server: 7_205_759_405,
  usage: 7_205_759_406,
} as const;

/** Waits for its turn, which lasts to the end of the transaction. */
export async function takeTurn(tx: Queries, turn: 'migration' | 'events' | 'usage'): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(advisoryLocks[turn])})`.execute(tx);
}
