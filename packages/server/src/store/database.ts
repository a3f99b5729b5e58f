import { Kysely, PostgresDialect, SqliteDialect, type Transaction } from 'kysely';
import type { Schema } from './schema.ts';

/**
 * One database, two engines: a SQLite file in the data folder, or Postgres by URL. Everything above writes one set of
 * queries; what differs between the engines is in this file and in the few places that ask for `engine`.
 */
export type Engine = 'sqlite' | 'postgres';

export interface Database {
  readonly engine: Engine;
  readonly db: Kysely<Schema>;
  close(): Promise<void>;
}

export type Queries = Kysely<Schema> | Transaction<Schema>;

export async function openSqlite(path: string): Promise<Database> {
  const { openSqliteDatabase } = await import('./sqlite.ts');
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: openSqliteDatabase(path) }) });
  return { engine: 'sqlite', db, close: () => db.destroy() };
}

export async function openPostgres(url: string): Promise<Database> {
  const { openPostgresPool } = await import('./postgres.ts');
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: openPostgresPool(url) }) });
  return { engine: 'postgres', db, close: () => db.destroy() };
}
