import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { localOwner, newId, ownerLabels } from '@caisson/contract';
import type { Database } from '@caisson/server';

/**
 * Sandboxes written straight into the tables: what is measured is reading them, not making them. They are ready where
 * there is a backend to hold them, else stopped: a ready one without an instance would be repaired while it is read.
 */
export async function seedSandboxes(
  database: Database,
  count: number,
  backendFolder?: string,
  more: (n: number) => object = () => ({}),
): Promise<void> {
  const { db } = database;
  const { tenant, project, principal } = localOwner;
  if (backendFolder !== undefined) mkdirSync(backendFolder, { recursive: true });
  const began = Date.now() - count;
  // SQLite takes at most 32,766 values in a statement.
  const batch = 500;
  for (let first = 0; first < count; first += batch) {
    const rows = Array.from({ length: Math.min(batch, count - first) }, (_, n) => {
      const at = began + first + n;
      const id = newId('sandbox', at);
      if (backendFolder !== undefined) writeInstance(backendFolder, id);
      const state = backendFolder === undefined ? 'stopped' : 'ready';
      const times = { created_at: at, updated_at: at, ready_at: at };
      return { ...common, state, id, tenant, project, principal, ...times, ...more(first + n) };
    });
    await db.insertInto('sandboxes').values(rows).execute();
  }
  await db.updateTable('tenants').set({ live_sandboxes: count }).where('name', '=', tenant).execute();
}

const common = {
  incarnation: 1,
  sequence: 3,
  labels: '{"team":"bench"}',
  driver: 'fake',
  host: 'bench',
  blueprint_digest: `blueprint-sha256:${'0'.repeat(64)}`,
  persistence: 'ephemeral',
  notices: '[]',
};

function writeInstance(folder: string, sandbox: `sbx${string}`): void {
  const key = { sandbox, incarnation: 1 };
  const instance = { labels: ownerLabels(localOwner), key, status: 'running' };
  appendFileSync(join(folder, 'instances.log'), `${JSON.stringify({ name: `${sandbox}.1`, instance })}\n`);
}
