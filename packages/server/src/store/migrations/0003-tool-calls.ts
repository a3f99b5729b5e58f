import type { Kysely } from 'kysely';

/** Calls of tools, so that a repeated one is answered and not run. */
export async function toolCalls(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('tool_calls')
    .addColumn('sandbox', 'text', (c) => c.notNull())
    .addColumn('call_id', 'text', (c) => c.notNull())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('request_hash', 'text', (c) => c.notNull())
    .addColumn('answer', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('tool_calls_key', ['sandbox', 'call_id'])
    .execute();
  await schema.createIndex('tool_calls_by_age').on('tool_calls').column('created_at').execute();
}
