import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { translateDatabaseError } from './database-errors.ts';

/** bigint arrives as text by default; our numbers stay below 2^53. */
const int8Oid = 20;

export function openPostgresPool(url: string): PostgresPool {
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === int8Oid ? Number : (pg.types.getTypeParser as (oid: number, format?: string) => unknown)(oid, format),
  };
  const pool = new pg.Pool({
    connectionString: url,
    types: types as pg.CustomTypesConfig,
    // More connections than this only wait for each other inside Postgres on a small machine.
    max: 10,
    // A database that is away must be told within the time a request may take, not after it.
    connectionTimeoutMillis: 3_000,
    query_timeout: 15_000,
    keepAlive: true,
    application_name: 'caisson',
  });
  // An idle connection that breaks is replaced at the next query; without a listener it would end the process.
  pool.on('error', () => {});
  return {
    connect: () => pool.connect().then(translatedClient, rethrow),
    end: () => pool.end(),
  };
}

/** The same connection, whose errors are ours. */
function translatedClient(client: pg.PoolClient): PostgresPoolClient {
  // A connection that breaks while it is in use fails its query; without a listener it would end the process as well.
  let broken: Error | undefined;
  const remember = (error: Error) => {
    broken = error;
  };
  client.on('error', remember);
  const query = (sql: string, parameters: unknown[]) =>
    client.query(sql, parameters).catch((error: Error & { code?: string }) => {
      // An answer of the database has a code; anything else leaves the connection in an unknown state.
      if (error.code === undefined) remember(error);
      throw translateDatabaseError(error);
    });
  return {
    // Kysely also knows cursors, which nothing here asks for.
    query: query as unknown as PostgresPoolClient['query'],
    release: () => {
      client.off('error', remember);
      client.release(broken);
    },
  };
}

function rethrow(error: unknown): never {
  throw translateDatabaseError(error);
}
