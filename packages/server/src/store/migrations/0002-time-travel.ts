import { type Kysely, sql } from 'kysely';

/** Snapshots that can be restored when their sandbox is gone, and what a sandbox knows of its own past. */
export async function timeTravel(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  const policy = JSON.stringify({ keepTurns: 100, perTool: false, autoPauseSeconds: null, autoResume: false });
  await schema
    .alterTable('sandboxes')
    .addColumn('policy', 'text', (c) => c.notNull().defaultTo(policy))
    .execute();
  await schema
    .alterTable('sandboxes')
    .addColumn('turn', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute();
  for (const name of ['head', 'rollback_to', 'origin_sandbox', 'origin_snapshot']) {
    await schema.alterTable('sandboxes').addColumn(name, 'text').execute();
  }
  for (const name of ['from_snapshot', 'image']) await schema.alterTable('attempts').addColumn(name, 'text').execute();
  await sql`create index attempts_from_snapshot on attempts (from_snapshot) where from_snapshot is not null`.execute(
    db,
  );
  await schema.alterTable('snapshots').addColumn('scope', 'text').execute();
  for (const name of ['inputs', 'blueprint_digest']) {
    await schema
      .alterTable('snapshots')
      .addColumn(name, 'text', (c) => c.notNull().defaultTo(''))
      .execute();
  }
  await schema.alterTable('snapshots').addColumn('frozen_us', 'bigint').execute();
  await sql`create unique index snapshots_name on snapshots (sandbox, name) where name is not null and state <> 'deleting'`.execute(
    db,
  );
  await schema.createIndex('snapshots_of_project').on('snapshots').columns(['tenant', 'project', 'id']).execute();
  await schema.createIndex('snapshots_by_parent').on('snapshots').column('parent').execute();
  await sql`create index snapshots_unfinished on snapshots (id) where state <> 'ready'`.execute(db);
}
