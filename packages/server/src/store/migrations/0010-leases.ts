import { type Kysely, sql } from 'kysely';

/**
 * The terms of each lease, and when something is due: its warning, its end, the end of its idle time. Each time has an
 * index of those that have one, so that the earliest is found without looking at the others.
 *
 * `at_expiry` is null in rows from before: what their profile says is filled in by the server.
 */
export async function leases(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  for (const column of [
    'ttl_seconds',
    'max_ttl_seconds',
    'idle_seconds',
    'warn_seconds',
    'leased_at',
    'warn_at',
    'idle_at',
  ])
    await schema.alterTable('sandboxes').addColumn(column, 'bigint').execute();
  await schema.alterTable('sandboxes').addColumn('at_expiry', 'text').execute();
  await sql`create index sandboxes_by_warning on sandboxes (warn_at) where warn_at is not null and state <> 'destroyed'`.execute(
    db,
  );
  await sql`create index sandboxes_by_idle on sandboxes (idle_at) where idle_at is not null and state <> 'destroyed'`.execute(
    db,
  );
}
