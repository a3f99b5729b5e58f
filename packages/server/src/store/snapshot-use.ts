import { CaissonError } from '@caisson/contract';
import type { Queries } from './database.ts';

/**
 * Whoever begins from a snapshot, or goes back to it, writes so while it is there; whoever removes it looks for them
 * afterwards. Both change its row, so that one of the two sees the other, whatever the engine.
 */
export async function requireSnapshot(tx: Queries, id: string): Promise<void> {
  const found = await tx
    .updateTable('snapshots')
    .set({ state: 'ready' })
    .where('id', '=', id)
    .where('state', '=', 'ready')
    .returning('id')
    .executeTakeFirst();
  if (!found) throw new CaissonError('snapshot_not_found', `there is no snapshot ${id}`);
}

/** Whether a sandbox is on its way back to it, or begins from it. */
export async function isSnapshotInUse(db: Queries, id: string): Promise<boolean> {
  const goingBack = await db
    .selectFrom('sandboxes')
    .select('id')
    .where('rollback_to', '=', id)
    .where('action', '=', 'rollback')
    .limit(1)
    .executeTakeFirst();
  if (goingBack) return true;
  const beginning = await db
    .selectFrom('attempts')
    .select('id')
    .where('from_snapshot', '=', id)
    .where('state', '=', 'running')
    .limit(1)
    .executeTakeFirst();
  return beginning !== undefined;
}
