import type { Id, Labels } from '@caisson/contract';
import type { Queries } from './database.ts';

/** The labels of a sandbox once more, each a row, for whoever looks sandboxes up by them. */
export async function insertLabels(tx: Queries, sandbox: Id<'sandbox'>, labels: Labels): Promise<void> {
  const rows = Object.entries(labels).map(([key, value]) => ({ sandbox, key, value }));
  if (rows.length > 0) await tx.insertInto('sandbox_labels').values(rows).execute();
}
