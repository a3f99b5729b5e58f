import { openPostgres } from '../../packages/server/src/store/database.ts';
import { openStore } from '../../packages/server/src/store/store.ts';
import { balancesOfLedger } from '../conformance/ledger-sums.ts';

/**
 * Everything that is counted in the books of a database and is not what its records say; for when no server runs. A lease
 * that fell due after `dueBy` may have been left to the next server.
 */
export async function wrongInBooks(url: string, dueBy: number): Promise<string[]> {
  const store = await openStore({ postgres: url });
  const quotas = await store.quotas.repair();
  const orphans = await store.credits.releaseOrphans();
  const { due } = await store.numbers.dueLeases(dueBy);
  await store.close();
  const { db, close } = await openPostgres(url);
  try {
    const { wrong } = await balancesOfLedger(db);
    const living = await db.selectFrom('sandboxes').selectAll().where('state', '<>', 'destroyed').execute();
    const meters = await db.selectFrom('meters').selectAll().where('ended_at', 'is', null).execute();
    const counted = <K extends 'tenant' | 'host'>(by: K, name: string) =>
      living.filter((row) => row[by] === name).length;
    const tenants = await db.selectFrom('tenants').selectAll().where('live_sandboxes', '<>', 0).execute();
    const hosts = await db.selectFrom('hosts').selectAll().execute();
    const metered = new Set(meters.map(({ sandbox }) => sandbox));
    return [
      ...wrong,
      ...quotas.map(({ tenant, found }) => `quota of ${tenant}: ${found}`),
      ...orphans.map(({ sandbox, released }) => `${released} held for ${sandbox}, which is gone`),
      ...(due > 0 ? [`${due} leases should have ended`] : []),
      ...tenants
        .filter(({ name, live_sandboxes: count }) => count !== counted('tenant', name))
        .map(({ name, live_sandboxes: count }) => `tenant ${name} counts ${count} and has ${counted('tenant', name)}`),
      ...hosts
        .filter(({ name, live_sandboxes: count }) => count !== counted('host', name))
        .map(({ name, live_sandboxes: count }) => `host ${name} counts ${count} and has ${counted('host', name)}`),
      ...living.filter(({ id }) => !metered.has(id)).map(({ id }) => `${id} lives and is not metered`),
    ];
  } finally {
    await close();
  }
}
