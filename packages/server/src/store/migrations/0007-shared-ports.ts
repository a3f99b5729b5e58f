import type { Kysely } from 'kysely';

/** Ports of sandboxes that are open to the outside. */
export async function sharedPorts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('shared_ports')
    .addColumn('sandbox', 'text', (c) => c.notNull())
    .addColumn('port', 'integer', (c) => c.notNull())
    .addColumn('share', 'text', (c) => c.notNull())
    .addColumn('visibility', 'text', (c) => c.notNull())
    .addColumn('host_header', 'text', (c) => c.notNull())
    .addColumn('token_hash', 'text')
    .addColumn('opened_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('shared_ports_key', ['sandbox', 'port'])
    .execute();
}
