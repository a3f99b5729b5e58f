import { CaissonError, newId } from '@caisson/contract';
import { type Kysely, sql } from 'kysely';
import { takeTurn } from './advisory-locks.ts';
import type { Database, Engine } from './database.ts';
import { initial } from './migrations/0001-initial.ts';
import { timeTravel } from './migrations/0002-time-travel.ts';
import { toolCalls } from './migrations/0003-tool-calls.ts';
import { warmPool } from './migrations/0004-warm-pool.ts';
import { network } from './migrations/0005-network.ts';
import { secrets } from './migrations/0006-secrets.ts';
import { sharedPorts } from './migrations/0007-shared-ports.ts';
import { routes } from './migrations/0008-routes.ts';
import { builds } from './migrations/0009-builds.ts';
import { leases } from './migrations/0010-leases.ts';
import { webhooks } from './migrations/0011-webhooks.ts';
import { tenancy } from './migrations/0012-tenancy.ts';
import { credits } from './migrations/0013-credits.ts';

type Migration = (db: Kysely<unknown>, engine: Engine) => Promise<void>;

/** In order; the version of a database is how many of these it has. Landed ones never change. */
const migrations: readonly Migration[] = [
  initial,
  timeTravel,
  toolCalls,
  warmPool,
  network,
  secrets,
  sharedPorts,
  routes,
  builds,
  leases,
  webhooks,
  tenancy,
  credits,
];

/**
 * Brings the database to this version, one transaction for each step, so that a step killed half-way is not there at all.
 * Two servers that start at once take turns. Answers the id of the installation.
 */
export async function migrate(database: Database, kept?: string): Promise<string> {
  const { db, engine } = database;
  await sql`create table if not exists meta (key text primary key, value text not null)`.execute(db).catch(ignoreRace);
  for (;;) {
    const done = await db.transaction().execute(async (tx) => {
      if (engine === 'postgres') await takeTurn(tx, 'migration');
      const row = await tx.selectFrom('meta').select('value').where('key', '=', 'version').executeTakeFirst();
      const version = Number(row?.value ?? 0);
      if (version > migrations.length) {
        throw new CaissonError(
          'data_folder_newer',
          `the data is of version ${version}, this server knows ${migrations.length}`,
        );
      }
      const next = migrations[version];
      if (next === undefined) return true;
      await next(tx as unknown as Kysely<unknown>, engine);
      await tx
        .insertInto('meta')
        .values({ key: 'version', value: String(version + 1) })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: String(version + 1) }))
        .execute();
      return false;
    });
    if (done) break;
  }
  await db
    .insertInto('meta')
    .values({ key: 'installation', value: kept ?? newId('host').slice(3) })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .execute();
  const row = await db.selectFrom('meta').select('value').where('key', '=', 'installation').executeTakeFirstOrThrow();
  return row.value;
}

/** Postgres may refuse the second of two `create table if not exists` that run at the same moment; the table is there. */
function ignoreRace(error: unknown): void {
  if (!(error instanceof Error) || !/already exists|duplicate key/.test(error.message)) throw error;
}
