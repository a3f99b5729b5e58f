import { CaissonError } from '@caisson/contract';
import type { Queries } from './database.ts';

/**
 * How many sandboxes there are, and may be, per tenant and per host. The count is a column that changes in the same
 * transaction as the sandbox; the row it stands in is locked by that change, so two creates cannot both take the last place.
 */
export interface Limits {
  /** Applies to a tenant or host that has no limit of its own. `null` is none. */
  readonly sandboxesPerTenant: number | null;
  readonly sandboxesPerHost: number | null;
}

export async function takePlace(tx: Queries, tenant: string, host: string, limits: Limits, now: number): Promise<void> {
  await takeTenantPlace(tx, tenant, limits, now);
  const placed = await tx
    .updateTable('hosts')
    .set((eb) => ({ live_sandboxes: eb('live_sandboxes', '+', 1) }))
    .where('name', '=', host)
    .returning(['live_sandboxes', 'max_sandboxes'])
    .executeTakeFirst();
  if (placed) refuseAbove(placed, limits.sandboxesPerHost, 'host', host);
}

/** One that has its place on the host already goes to another tenant. */
export async function movePlace(tx: Queries, from: string, to: string, limits: Limits, now: number): Promise<void> {
  await takeTenantPlace(tx, to, limits, now);
  await givePlaceBack(tx, from, null);
}

export async function givePlaceBack(tx: Queries, tenant: string, host: string | null): Promise<void> {
  await tx
    .updateTable('tenants')
    .set((eb) => ({ live_sandboxes: eb('live_sandboxes', '-', 1) }))
    .where('name', '=', tenant)
    .execute();
  if (host === null) return;
  await tx
    .updateTable('hosts')
    .set((eb) => ({ live_sandboxes: eb('live_sandboxes', '-', 1) }))
    .where('name', '=', host)
    .execute();
}

async function takeTenantPlace(tx: Queries, tenant: string, limits: Limits, now: number): Promise<void> {
  const taken = await tx
    .insertInto('tenants')
    .values({ name: tenant, live_sandboxes: 1, created_at: now })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((eb) => ({ live_sandboxes: eb('tenants.live_sandboxes', '+', 1) })),
    )
    .returning(['live_sandboxes', 'max_sandboxes'])
    .executeTakeFirstOrThrow();
  refuseAbove(taken, limits.sandboxesPerTenant, 'tenant', tenant);
}

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
