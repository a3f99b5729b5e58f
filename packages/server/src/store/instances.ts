import type { Queries } from './database.ts';
import type { SandboxRow } from './sandbox-row.ts';

export interface NewInstance {
  readonly driver: string;
  readonly host: string;
}

export async function insertInstance(tx: Queries, row: SandboxRow, instance: NewInstance, now: number): Promise<void> {
  await tx
    .insertInto('instances')
    .values({ sandbox: row.id, incarnation: row.incarnation, ...instance, state: 'running', created_at: now })
    .onConflict((conflict) =>
      conflict.columns(['sandbox', 'incarnation']).doUpdateSet({ state: 'running', ended_at: null, ...instance }),
    )
    .execute();
}

export async function endInstance(tx: Queries, sandbox: string, incarnation: number, now: number): Promise<void> {
  await tx
    .updateTable('instances')
    .set({ state: 'ended', ended_at: now })
    .where('sandbox', '=', sandbox)
    .where('incarnation', '<=', incarnation)
    .where('state', '=', 'running')
    .execute();
}
