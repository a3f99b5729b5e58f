import type { Kysely } from 'kysely';

/** Why each attempt went where it went, and what was measured of each backend. */
export async function routes(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema.alterTable('attempts').addColumn('route', 'text').execute();
  await schema
    .createTable('backends')
    .addColumn('driver', 'text', (c) => c.notNull())
    .addColumn('host', 'text', (c) => c.notNull())
    .addColumn('launch_us', 'bigint', (c) => c.notNull())
    .addColumn('weight_millis', 'bigint', (c) => c.notNull())
    .addColumn('measured_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('backends_pkey', ['driver', 'host'])
    .execute();
}
