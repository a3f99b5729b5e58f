import type { Kysely } from 'kysely';

/** Secrets that are put into requests on their way out. `sealed` is the value, encrypted with a key that is not here. */
export async function secrets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('secrets')
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('project', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('domains', 'text', (c) => c.notNull())
    .addColumn('ports', 'text', (c) => c.notNull())
    .addColumn('header', 'text')
    .addColumn('placeholder', 'text')
    .addColumn('env', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addColumn('last_used_at', 'bigint')
    .addPrimaryKeyConstraint('secrets_key', ['tenant', 'project', 'name'])
    .execute();
}
