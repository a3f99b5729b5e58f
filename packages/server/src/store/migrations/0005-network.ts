import type { Kysely } from 'kysely';
import type { Engine } from '../database.ts';

/** Rules that were changed after their sandbox was made; what was decided on the way out, and how much went where. */
export async function network(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('sandbox_rules')
    .addColumn('sandbox', 'text', (c) => c.primaryKey())
    .addColumn('rules', 'text', (c) => c.notNull())
    .addColumn('revision', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();
  await schema
    .createTable('egress_log')
    .addColumn('position', engine === 'sqlite' ? 'integer' : 'bigserial', (c) =>
      engine === 'sqlite' ? c.primaryKey().autoIncrement() : c.primaryKey(),
    )
    .addColumn('sandbox', 'text', (c) => c.notNull())
    .addColumn('time', 'bigint', (c) => c.notNull())
    .addColumn('verdict', 'text', (c) => c.notNull())
    .addColumn('host', 'text', (c) => c.notNull())
    .addColumn('port', 'bigint', (c) => c.notNull())
    .addColumn('protocol', 'text', (c) => c.notNull())
    .addColumn('address', 'text')
    .addColumn('rule', 'text')
    .addColumn('why', 'text')
    .addColumn('suggestion', 'text')
    .addColumn('secrets', 'text')
    .addColumn('count', 'bigint', (c) => c.notNull())
    .execute();
  await schema.createIndex('egress_log_of_sandbox').on('egress_log').columns(['sandbox', 'position']).execute();
  await schema
    .createTable('egress_usage')
    .addColumn('sandbox', 'text', (c) => c.notNull())
    .addColumn('host', 'text', (c) => c.notNull())
    .addColumn('sent', 'bigint', (c) => c.notNull())
    .addColumn('received', 'bigint', (c) => c.notNull())
    .addColumn('connections', 'bigint', (c) => c.notNull())
    .addColumn('allowed', 'bigint', (c) => c.notNull())
    .addColumn('refused', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('egress_usage_key', ['sandbox', 'host'])
    .execute();
}
