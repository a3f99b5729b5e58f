import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import type { SqliteDatabase, SqliteStatement } from 'kysely';
import { translateDatabaseError } from './database-errors.ts';

/** Statements are few and their text never carries values, so the cache cannot grow beyond the code. */
const maxCachedStatements = 500;

/**
 * A SQLite file as Kysely's SQLite dialect wants it. The write-ahead log with `synchronous = normal` loses nothing when
 * the process is killed; when the machine loses power the last moments may be missing, never half of a transaction.
 */
export function openSqliteDatabase(path: string): SqliteDatabase {
  const database = new DatabaseSync(path);
  database.exec(
    'pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on; pragma busy_timeout = 250',
  );
  const statements = new Map<string, SqliteStatement>();
  return {
    close() {
      statements.clear();
      database.close();
    },
    prepare(sql) {
      const known = statements.get(sql);
      if (known) return known;
      const prepared = translated(() => prepareStatement(database, sql));
      if (statements.size < maxCachedStatements) statements.set(sql, prepared);
      return prepared;
    },
  };
}

function prepareStatement(database: DatabaseSyncInstance, sql: string): SqliteStatement {
  const statement = database.prepare(sql);
  const values = (parameters: readonly unknown[]) => parameters as Parameters<typeof statement.all>;
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => translated(() => statement.all(...values(parameters))),
    run: (parameters) => translated(() => runStatement(sql, () => statement.run(...values(parameters)))),
    iterate: (parameters) => statement.iterate(...values(parameters)) as IterableIterator<unknown>,
  };
}

/** SQLite ends a transaction by itself when the disk is full; that the rollback finds none must not hide why. */
function runStatement<T>(sql: string, run: () => T): T | { changes: number; lastInsertRowid: number } {
  try {
    return run();
  } catch (error) {
    if (sql !== 'rollback' || !(error instanceof Error) || !/no transaction is active/.test(error.message)) throw error;
    return { changes: 0, lastInsertRowid: 0 };
  }
}

function translated<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translateDatabaseError(error);
  }
}
