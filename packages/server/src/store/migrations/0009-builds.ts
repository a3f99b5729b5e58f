import { type Kysely, sql } from 'kysely';

/** Builds of images with their logs, and what each attempt was made of. */
export async function builds(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('builds')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('job', 'text', (c) => c.notNull())
    .addColumn('key', 'text', (c) => c.notNull())
    .addColumn('tenant', 'text', (c) => c.notNull())
    .addColumn('project', 'text', (c) => c.notNull())
    .addColumn('principal', 'text', (c) => c.notNull())
    .addColumn('scope', 'text')
    .addColumn('plan_digest', 'text', (c) => c.notNull())
    .addColumn('plan', 'text', (c) => c.notNull())
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('builder', 'text')
    .addColumn('tries', 'bigint', (c) => c.notNull())
    .addColumn('steps', 'text', (c) => c.notNull())
    .addColumn('error', 'text')
    .addColumn('image', 'text')
    .addColumn('materials', 'text')
    .addColumn('log_bytes', 'bigint', (c) => c.notNull())
    .addColumn('left_out_bytes', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .addColumn('started_at', 'bigint')
    .addColumn('ended_at', 'bigint')
    .execute();
  await schema.createIndex('builds_of_project').on('builds').columns(['tenant', 'project', 'id']).execute();
  await schema.createIndex('builds_by_job').on('builds').column('job').execute();
  await sql`create index builds_done on builds (key, id) where state = 'succeeded'`.execute(db);
  await sql`create index builds_under_way on builds (tenant) where state in ('queued', 'running')`.execute(db);
  await schema
    .createTable('build_log')
    .addColumn('build', 'text', (c) => c.notNull())
    .addColumn('position', 'bigint', (c) => c.notNull())
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('item', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('build_log_pkey', ['build', 'position'])
    .execute();
  for (const column of ['plan_digest', 'plan', 'build', 'from_image', 'sources'])
    await schema.alterTable('attempts').addColumn(column, 'text').execute();
  await sql`create index attempts_of_build on attempts (build) where build is not null and state = 'running'`.execute(
    db,
  );
}
