import { type Kysely, sql } from 'kysely';
import type { Engine } from '../database.ts';
import { refuseChanges } from './append-only.ts';

/** Credits: the ledger with its order, balances that cannot fall below nothing, and a meter for each sandbox. */
export async function credits(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { schema } = db;
  // Null is without limit.
  await schema
    .alterTable('tenants')
    .addColumn('credits', 'bigint', (c) => c.check(sql`credits >= 0`))
    .execute();
  for (const name of ['credits_held', 'credits_used', 'credits_unpaid']) {
    await schema
      .alterTable('tenants')
      .addColumn(name, 'bigint', (c) =>
        c
          .notNull()
          .defaultTo(0)
          .check(sql`${sql.ref(name)} >= 0`),
      )
      .execute();
  }
  await schema
    .alterTable('sandboxes')
    .addColumn('metered', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute();
  // Nothing was ever written to the first one, and a position cannot be added to it.
  await schema.dropTable('ledger').execute();
  const position = engine === 'sqlite' ? 'integer' : 'bigserial';
  await schema
    .createTable('ledger')
    .addColumn('position', position, (c) => (engine === 'sqlite' ? c.primaryKey().autoIncrement() : c.primaryKey()))
    .addColumn('transfer', 'text', (c) => c.notNull())
    .addColumn('account', 'text', (c) => c.notNull())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('sandbox', 'text')
    .addColumn('amount', 'bigint', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('note', 'text')
    .addColumn('reference', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addUniqueConstraint('ledger_of_transfer', ['transfer', 'account'])
    .execute();
  await schema.createIndex('ledger_of_tenant').on('ledger').columns(['tenant', 'position']).execute();
  await sql`create unique index ledger_reference on ledger (tenant, account, reference) where reference is not null`.execute(
    db,
  );
  await refuseChanges(db, engine, 'ledger');
  await meters(db);
  await usage(db, engine);
}

async function meters({ schema }: Kysely<unknown>): Promise<void> {
  let table = schema.createTable('meters').addColumn('sandbox', 'text', (c) => c.primaryKey());
  for (const name of ['tenant', 'phase']) table = table.addColumn(name, 'text', (c) => c.notNull());
  const numbers = ['running_micros', 'paused_micros', 'stopped_micros', 'since', 'remainder', 'hold_ms', 'told_low'];
  for (const name of numbers) table = table.addColumn(name, 'bigint', (c) => c.notNull());
  await table
    .addColumn('held', 'bigint', (c) => c.notNull().check(sql`held >= 0`))
    .addColumn('ended_at', 'bigint')
    .execute();
  await schema.createIndex('meters_running').on('meters').columns(['ended_at', 'since']).execute();
}

async function usage(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { schema } = db;
  const position = engine === 'sqlite' ? 'integer' : 'bigserial';
  let table = schema
    .createTable('usage')
    .addColumn('position', position, (c) => (engine === 'sqlite' ? c.primaryKey().autoIncrement() : c.primaryKey()))
    .addColumn('id', 'text', (c) => c.notNull().unique());
  for (const name of ['tenant', 'project', 'principal', 'sandbox', 'driver', 'host', 'phase']) {
    table = table.addColumn(name, 'text', (c) => c.notNull());
  }
  for (const name of [
    'began_at',
    'ended_at',
    'cpu_millis',
    'memory_mib',
    'disk_mib',
    'per_hour',
    'charged',
    'unpaid',
  ]) {
    table = table.addColumn(name, 'bigint', (c) => c.notNull());
  }
  await table.execute();
  await schema.createIndex('usage_of_tenant').on('usage').columns(['tenant', 'position']).execute();
  await refuseChanges(db, engine, 'usage');
}
