import { type Kysely, sql } from 'kysely';

/** Sandboxes made ahead, which belong to the system until somebody claims them, and how many of them there shall be. */
export async function warmPool(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema.alterTable('sandboxes').addColumn('pool', 'text').execute();
  await sql`create index sandboxes_in_pool on sandboxes (pool, id) where pool is not null`.execute(db);
  await schema
    .createTable('pools')
    .addColumn('profile', 'text', (c) => c.primaryKey())
    .addColumn('min_members', 'bigint', (c) => c.notNull())
    .addColumn('max_members', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();
}
