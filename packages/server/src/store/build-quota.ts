import { sql } from 'kysely';
import type { Queries } from './database.ts';
import { exceeded } from './quotas.ts';

type Place = { readonly tenant: string; readonly project: string };

/** Builds that wait or run. Few at any time, so they are counted where one more is asked for. */
export async function countBuilds(queries: Queries, { tenant, project }: Place): Promise<number> {
  let query = queries
    .selectFrom('builds')
    .select((eb) => eb.fn.countAll().as('builds'))
    .where('tenant', '=', tenant)
    // Spelled exactly like the partial index.
    .where(sql<boolean>`state in ('queued', 'running')`);
  if (project !== '') query = query.where('project', '=', project);
  return Number((await query.executeTakeFirstOrThrow()).builds);
}

/** To be called after the build was written, in its transaction. Those of one tenant take turns by the rows of its quotas. */
export async function requireBuildRoom(tx: Queries, { tenant, project }: Place): Promise<void> {
  const rows = await tx
    .updateTable('quotas')
    .set((eb) => ({ repairs: eb.ref('repairs') }))
    .where('tenant', '=', tenant)
    .where('project', 'in', ['', project])
    .where('max_builds', 'is not', null)
    .returning(['tenant', 'project', 'max_builds'])
    .execute();
  for (const row of rows) {
    const builds = await countBuilds(tx, row);
    if (row.max_builds !== null && builds > row.max_builds)
      throw exceeded(row, 'builds', builds - 1, 1, row.max_builds);
  }
}
