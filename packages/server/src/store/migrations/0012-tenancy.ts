import { type Kysely, sql } from 'kysely';
import type { Engine } from '../database.ts';
import { refuseChanges } from './append-only.ts';

/** What each may have and do: roles, quotas, the size of what is counted; and the audit log. */
export async function tenancy(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema.alterTable('tenants').addColumn('suspended_at', 'bigint').execute();
  // How many rows of quotas there are for it: those that have none pay with no statement.
  await schema
    .alterTable('tenants')
    .addColumn('quotas', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute();
  await schema
    .alterTable('principals')
    .addColumn('role', 'text', (c) => c.notNull().defaultTo('admin'))
    .execute();
  for (const name of ['cpu_millis', 'memory_mib', 'disk_mib']) {
    await schema
      .alterTable('sandboxes')
      .addColumn(name, 'bigint', (c) => c.notNull().defaultTo(0))
      .execute();
  }
  let quotas = schema
    .createTable('quotas')
    .addColumn('tenant', 'text', (c) => c.notNull())
    // Empty for the whole tenant: a key has no room for null.
    .addColumn('project', 'text', (c) => c.notNull())
    .addColumn('repairs', 'bigint', (c) => c.notNull());
  for (const name of ['sandboxes', 'cpu_millis', 'memory_mib', 'disk_mib', 'snapshots']) {
    quotas = quotas.addColumn(`used_${name}`, 'bigint', (c) => c.notNull()).addColumn(`max_${name}`, 'bigint');
  }
  await quotas.addColumn('max_builds', 'bigint').addPrimaryKeyConstraint('quotas_key', ['tenant', 'project']).execute();
  await audit(db, engine);
}

async function audit(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { schema } = db;
  let table = schema
    .createTable('audit')
    .addColumn('position', engine === 'sqlite' ? 'integer' : 'bigserial', (c) =>
      engine === 'sqlite' ? c.primaryKey().autoIncrement() : c.primaryKey(),
    )
    .addColumn('id', 'text', (c) => c.notNull().unique())
    .addColumn('time', 'bigint', (c) => c.notNull())
    .addColumn('actor', 'text', (c) => c.notNull())
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('status', 'bigint')
    .addColumn('count', 'bigint', (c) => c.notNull());
  const texts = ['tenant', 'project', 'principal', 'key', 'subject', 'address', 'agent', 'code', 'request', 'detail'];
  for (const name of texts) table = table.addColumn(name, 'text');
  await table.execute();
  await schema.createIndex('audit_of_tenant').on('audit').columns(['tenant', 'position']).execute();
  await schema.createIndex('audit_by_time').on('audit').column('time').execute();
  // What is older than the operator keeps may go; `meta` has that time.
  const kept = sql`old.time >= coalesce((select cast(value as bigint) from meta where key = 'audit_kept_since'), 0)`;
  await refuseChanges(db, engine, 'audit', kept);
}
