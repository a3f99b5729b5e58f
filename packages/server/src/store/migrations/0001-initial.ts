import { type Kysely, sql } from 'kysely';
import type { Engine } from '../database.ts';

/** The first shape of everything. Types are spelled so that both engines take them as they are. */
export async function initial(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('tenants')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('max_sandboxes', 'bigint')
    .addColumn('live_sandboxes', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await schema
    .createTable('projects')
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('projects_key', ['tenant', 'name'])
    .execute();
  await schema
    .createTable('principals')
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('principals_key', ['tenant', 'name'])
    .execute();
  await schema
    .createTable('api_keys')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('hash', 'text', (c) => c.notNull().unique())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('project', 'text', (c) => c.notNull())
    .addColumn('principal', 'text', (c) => c.notNull())
    .addColumn('scope', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .execute();
  await schema
    .createTable('hosts')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('max_sandboxes', 'bigint')
    .addColumn('live_sandboxes', 'bigint', (c) => c.notNull())
    .addColumn('version', 'text', (c) => c.notNull())
    .addColumn('seen_at', 'bigint', (c) => c.notNull())
    .execute();
  await sandboxes(db);
  await schema
    .createTable('attempts')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('sandbox', 'text', (c) => c.notNull())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('incarnation', 'bigint', (c) => c.notNull())
    .addColumn('action', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('reason_code', 'text')
    .addColumn('reason_message', 'text')
    .addColumn('driver', 'text')
    .addColumn('spec', 'text', (c) => c.notNull())
    .addColumn('resolved_spec', 'text', (c) => c.notNull())
    .addColumn('blueprint', 'text', (c) => c.notNull())
    .addColumn('blueprint_digest', 'text', (c) => c.notNull())
    .addColumn('started_at', 'bigint', (c) => c.notNull())
    .addColumn('ended_at', 'bigint')
    .execute();
  await schema.createIndex('attempts_by_sandbox').on('attempts').columns(['sandbox', 'id']).execute();
  await schema
    .createTable('instances')
    .addColumn('sandbox', 'text', (c) => c.notNull())
    .addColumn('incarnation', 'bigint', (c) => c.notNull())
    .addColumn('driver', 'text', (c) => c.notNull())
    .addColumn('host', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('ended_at', 'bigint')
    .addPrimaryKeyConstraint('instances_key', ['sandbox', 'incarnation'])
    .execute();
  await schema
    .createTable('events')
    .addColumn('position', engine === 'sqlite' ? 'integer' : 'bigserial', (c) =>
      engine === 'sqlite' ? c.primaryKey().autoIncrement() : c.primaryKey(),
    )
    .addColumn('id', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('sequence', 'bigint', (c) => c.notNull())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('project', 'text', (c) => c.notNull())
    .addColumn('time', 'bigint', (c) => c.notNull())
    .addColumn('data', 'text', (c) => c.notNull())
    .addUniqueConstraint('events_of_subject', ['subject', 'sequence'])
    .execute();
  await schema.createIndex('events_by_project').on('events').columns(['tenant', 'project', 'position']).execute();
  await jobs(db);
  await schema
    .createTable('idempotency')
    .addColumn('caller', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('request_hash', 'text', (c) => c.notNull())
    .addColumn('sandbox', 'text')
    .addColumn('status', 'bigint')
    .addColumn('answer', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('idempotency_key', ['caller', 'key'])
    .execute();
  await schema.createIndex('idempotency_by_age').on('idempotency').column('created_at').execute();
  await later(db);
}

async function sandboxes(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('sandboxes')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('project', 'text', (c) => c.notNull())
    .addColumn('principal', 'text', (c) => c.notNull())
    .addColumn('scope', 'text')
    .addColumn('name', 'text')
    .addColumn('slot', 'text')
    .addColumn('profile_name', 'text')
    .addColumn('profile_version', 'bigint')
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('action', 'text')
    .addColumn('reason_code', 'text')
    .addColumn('reason_message', 'text')
    .addColumn('incarnation', 'bigint', (c) => c.notNull())
    .addColumn('sequence', 'bigint', (c) => c.notNull())
    .addColumn('labels', 'text', (c) => c.notNull())
    .addColumn('attempt', 'text')
    .addColumn('driver', 'text')
    .addColumn('host', 'text')
    .addColumn('blueprint_digest', 'text', (c) => c.notNull())
    .addColumn('persistence', 'text', (c) => c.notNull())
    .addColumn('notices', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .addColumn('ready_at', 'bigint')
    .addColumn('expires_at', 'bigint')
    .execute();
  await schema.createIndex('sandboxes_of_project').on('sandboxes').columns(['tenant', 'project', 'id']).execute();
  // The usual list leaves the destroyed ones out, and in time almost all are.
  await sql`create index live_sandboxes_of_project on sandboxes (tenant, project, id) where state <> 'destroyed'`.execute(
    db,
  );
  await sql`create index sandboxes_by_expiry on sandboxes (expires_at) where state <> 'destroyed'`.execute(db);
  await schema.createIndex('sandboxes_by_state').on('sandboxes').columns(['state', 'id']).execute();
  await sql`create unique index sandboxes_slot on sandboxes (slot) where slot is not null and state <> 'destroyed'`.execute(
    db,
  );
  await sql`create unique index sandboxes_name on sandboxes (tenant, project, principal, coalesce(scope, ''), name)
    where name is not null and state <> 'destroyed'`.execute(db);
  await schema
    .createTable('sandbox_labels')
    .addColumn('sandbox', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('value', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('sandbox_labels_key', ['sandbox', 'key'])
    .execute();
  await schema.createIndex('sandboxes_by_label').on('sandbox_labels').columns(['key', 'value', 'sandbox']).execute();
}

async function jobs(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('jobs')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('unique_key', 'text')
    .addColumn('tenant', 'text')
    .addColumn('payload', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('priority', 'bigint', (c) => c.notNull())
    .addColumn('tries', 'bigint', (c) => c.notNull())
    .addColumn('max_tries', 'bigint', (c) => c.notNull())
    .addColumn('run_at', 'bigint', (c) => c.notNull())
    .addColumn('lease_owner', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('error', 'text')
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('updated_at', 'bigint', (c) => c.notNull())
    .execute();
  await sql`create index jobs_waiting on jobs (kind, priority desc, run_at, id) where state = 'queued'`.execute(db);
  await sql`create index jobs_leased on jobs (lease_until) where state = 'running'`.execute(db);
  await sql`create unique index jobs_unique on jobs (unique_key) where unique_key is not null and state in ('queued', 'running')`.execute(
    db,
  );
}

async function later({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('images')
    .addColumn('digest', 'text', (c) => c.primaryKey())
    .addColumn('reference', 'text')
    .addColumn('size_bytes', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('used_at', 'bigint', (c) => c.notNull())
    .execute();
  await schema
    .createTable('snapshots')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('sandbox', 'text', (c) => c.notNull())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('project', 'text', (c) => c.notNull())
    .addColumn('principal', 'text', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('name', 'text')
    .addColumn('turn', 'bigint')
    .addColumn('parent', 'text')
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('labels', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await schema.createIndex('snapshots_by_sandbox').on('snapshots').columns(['sandbox', 'id']).execute();
  await schema
    .createTable('processes')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('sandbox', 'text', (c) => c.notNull())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('command', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('exit_code', 'bigint')
    .addColumn('started_at', 'bigint', (c) => c.notNull())
    .addColumn('ended_at', 'bigint')
    .execute();
  await schema.createIndex('processes_by_sandbox').on('processes').columns(['sandbox', 'id']).execute();
  await schema
    .createTable('ledger')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('transfer', 'text', (c) => c.notNull())
    .addColumn('account', 'text', (c) => c.notNull())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('sandbox', 'text')
    .addColumn('amount', 'bigint', (c) => c.notNull())
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await schema.createIndex('ledger_by_account').on('ledger').columns(['account', 'id']).execute();
}
