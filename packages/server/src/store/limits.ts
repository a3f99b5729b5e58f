import { CaissonError, systemOwner } from '@caisson/contract';
import type { Queries } from './database.ts';
import { beginMeter, type PayTerms } from './meters.ts';
import { amountsOf, giveQuotaBack, takeQuota } from './quotas.ts';
import type { SandboxRow } from './sandbox-row.ts';
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

export async function takePlace(
  tx: Queries,
  row: SandboxRow,
  limits: Limits,
  now: number,
  terms: PayTerms | undefined,
): Promise<void> {
  await takeTenantPlace(tx, row, limits, now, terms);
  const { host } = row;
  const [placed] = host === null ? [] : await enterHost(tx, { host });
  if (placed) refuseAbove(placed, limits.sandboxesPerHost, 'host', host ?? '');
}

export async function givePlaceBack(tx: Queries, row: SandboxRow): Promise<void> {
  const { tenant, host } = row;
  if (tenant !== systemOwner.tenant) {
    const [left] = await leaveTenant(tx, { tenant });
    if (left && left.quotas > 0) await giveQuotaBack(tx, row, amountsOf(row));
  }
  if (host !== null) await leaveHost(tx, { host });
}

/**
 * Also for one that has its place on the host already and comes from the system. Whether the tenant has quotas or pays
 * stands in the row that is changed anyway: who does neither waits for no statement more.
 */
export async function takeTenantPlace(
  tx: Queries,
  row: SandboxRow,
  limits: Limits,
  now: number,
  terms: PayTerms | undefined,
): Promise<void> {
  const { tenant } = row;
  if (tenant === systemOwner.tenant) return;
  const [taken] = await enterTenant(tx, { tenant, now });
  if (!taken) return;
  refuseAbove(taken, limits.sandboxesPerTenant, 'tenant', tenant);
  if (taken.quotas > 0) await takeQuota(tx, row, amountsOf(row));
  if (taken.credits !== null) await beginMeter(tx, row, taken.credits, terms, now);
}

const enterTenant = statement((queries, { tenant, now }: { tenant: string; now: number }) =>
  queries
    .insertInto('tenants')
    .values({ name: tenant, live_sandboxes: 1, created_at: now })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet((eb) => ({ live_sandboxes: eb('tenants.live_sandboxes', '+', 1) })),
    )
    .returning(['live_sandboxes', 'max_sandboxes', 'quotas', 'credits']),
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
    .where('name', '=', tenant)
    .returning('quotas'),
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
