import { CaissonError, systemOwner } from '@caisson/contract';
import type { Queries } from './database.ts';
import { statement } from './statement.ts';

/**
 * How many sandboxes there are, and may be, per tenant and per host. The count is a column that changes in the same
 * transaction as the sandbox; the row it stands in is locked by that change, so two creates cannot both take the last place.
 *
 * The system has the bounds of its pools and no limit as a tenant. It is not counted: every claim would wait for its row.
 */
export interface Limits {
  /** Applies to a tenant or host that has no limit of its own. `null` is none. */
  readonly sandboxesPerTenant: number | null;
  readonly sandboxesPerHost: number | null;
}

export async function takePlace(tx: Queries, tenant: string, host: string, limits: Limits, now: number): Promise<void> {
  await takeTenantPlace(tx, tenant, limits, now);
  const [placed] = await enterHost(tx, { host });
  if (placed) refuseAbove(placed, limits.sandboxesPerHost, 'host', host);
}

export async function givePlaceBack(tx: Queries, tenant: string, host: string | null): Promise<void> {
  if (tenant !== systemOwner.tenant) await leaveTenant(tx, { tenant });
  if (host !== null) await leaveHost(tx, { host });
}

/** Also for one that has its place on the host already and comes from the system. */
export async function takeTenantPlace(tx: Queries, tenant: string, limits: Limits, now: number): Promise<void> {
  if (tenant === systemOwner.tenant) return;
  const [taken] = await enterTenant(tx, { tenant, now });
  if (taken) refuseAbove(taken, limits.sandboxesPerTenant, 'tenant', tenant);
}

const enterTenant = statement((queries, { tenant, now }: { tenant: string; now: number }) =>
  queries
    .insertInto('tenants')
    .values({ name: tenant, live_sandboxes: 1, created_at: now })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((eb) => ({ live_sandboxes: eb('tenants.live_sandboxes', '+', 1) })),
    )
    .returning(['live_sandboxes', 'max_sandboxes']),
);

const enterHost = statement((queries, { host }: { host: string }) =>
  queries
    .updateTable('hosts')
    .set((eb) => ({ live_sandboxes: eb('live_sandboxes', '+', 1) }))
    .where('name', '=', host)
    .returning(['live_sandboxes', 'max_sandboxes']),
);

const leaveTenant = statement((queries, { tenant }: { tenant: string }) =>
  queries
    .updateTable('tenants')
    .set((eb) => ({ live_sandboxes: eb('live_sandboxes', '-', 1) }))
    .where('name', '=', tenant),
);

const leaveHost = statement((queries, { host }: { host: string }) =>
  queries
    .updateTable('hosts')
    .set((eb) => ({ live_sandboxes: eb('live_sandboxes', '-', 1) }))
    .where('name', '=', host),
);

function refuseAbove(
  row: { live_sandboxes: number; max_sandboxes: number | null },
  general: number | null,
  of: 'tenant' | 'host',
  name: string,
): void {
  const max = row.max_sandboxes ?? general;
  if (max !== null && row.live_sandboxes > max) {
    throw new CaissonError('max_sandboxes_reached', `${of} ${name} may have ${max} sandboxes and has them`, {
      context: { limit: max, of },
    });
  }
}
