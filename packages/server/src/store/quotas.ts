import { CaissonError, type QuotaResource } from '@caisson/contract';
import type { Selectable } from 'kysely';
import type { Queries } from './database.ts';
import type { SandboxRow } from './sandbox-row.ts';
import { statement } from './statement.ts';
import type { QuotaTable } from './tenancy-schema.ts';

/**
 * What a tenant and its projects use of what they may. Like the places of `limits.ts`, a count is a column that changes
 * in the same transaction as what it counts, and its row is locked by that change.
 *
 * Law: whoever counts has written to the table of what it counts before. So one who sets a quota waits for them by a
 * lock on those tables, and nobody is missed.
 */
export type QuotaRow = Selectable<QuotaTable>;

/** The columns of each resource that is counted as it comes and goes. */
export const countedColumns = {
  sandboxes: 'sandboxes',
  cpus: 'cpu_millis',
  memoryMiB: 'memory_mib',
  diskMiB: 'disk_mib',
  snapshots: 'snapshots',
} as const satisfies Partial<Record<QuotaResource, string>>;
export type CountedResource = keyof typeof countedColumns;
export const countedResources = Object.keys(countedColumns) as CountedResource[];

/** In the units of the columns. */
export type Amounts = Readonly<Record<CountedResource, number>>;

export const oneSnapshot: Amounts = { sandboxes: 0, cpus: 0, memoryMiB: 0, diskMiB: 0, snapshots: 1 };

export function amountsOf(row: Pick<SandboxRow, 'cpu_millis' | 'memory_mib' | 'disk_mib'>): Amounts {
  const { cpu_millis: cpus, memory_mib: memoryMiB, disk_mib: diskMiB } = row;
  return { sandboxes: 1, cpus, memoryMiB, diskMiB, snapshots: 0 };
}

type Place = { readonly tenant: string; readonly project: string };

/** Takes from the quota of the tenant and of the project; refused when either has not enough left. */
export async function takeQuota(tx: Queries, { tenant, project }: Place, amounts: Amounts): Promise<void> {
  for (const row of await count(tx, { tenant, project, ...amounts })) refuseAbove(row, amounts);
}

export async function giveQuotaBack(tx: Queries, { tenant, project }: Place, amounts: Amounts): Promise<void> {
  const given = Object.fromEntries(countedResources.map((name) => [name, -amounts[name]])) as unknown as Amounts;
  await count(tx, { tenant, project, ...given });
}

const count = statement((queries, by: Place & Amounts) =>
  queries
    .updateTable('quotas')
    .set((eb) => ({
      used_sandboxes: eb('used_sandboxes', '+', by.sandboxes),
      used_cpu_millis: eb('used_cpu_millis', '+', by.cpus),
      used_memory_mib: eb('used_memory_mib', '+', by.memoryMiB),
      used_disk_mib: eb('used_disk_mib', '+', by.diskMiB),
      used_snapshots: eb('used_snapshots', '+', by.snapshots),
    }))
    .where('tenant', '=', by.tenant)
    .where((eb) => eb.or([eb('project', '=', ''), eb('project', '=', by.project)]))
    .returningAll(),
);

function refuseAbove(row: QuotaRow, amounts: Amounts): void {
  for (const resource of countedResources) {
    const column = countedColumns[resource];
    const [asked, limit] = [amounts[resource], row[`max_${column}`]];
    const before = row[`used_${column}`] - asked;
    if (asked > 0 && limit !== null && before + asked > limit) throw exceeded(row, resource, before, asked, limit);
  }
}

/** What, how much is used, how much may be, and who can change that. Amounts in the units of the columns. */
export function exceeded(
  { tenant, project }: Pick<QuotaRow, 'tenant' | 'project'>,
  resource: QuotaResource,
  usedUnits: number,
  askedUnits: number,
  limitUnits: number,
): CaissonError {
  const [used, asked, limit] = [usedUnits, askedUnits, limitUnits].map((units) => fromUnits(resource, units));
  const of = project === '' ? 'tenant' : 'project';
  const name = project === '' ? tenant : project;
  const who = of === 'tenant' ? 'the operator' : 'an admin of the tenant';
  return new CaissonError(
    'quota_exceeded',
    `${of} ${name} may use ${limit} ${resource} and uses ${used}; this needs ${asked} more`,
    {
      context: { resource, of, name, used, limit, asked },
      hint: `End what is not needed, or ask ${who} for more: \`caisson quota set\`.`,
    },
  );
}

/** Processors are counted in thousandths. */
export function fromUnits(resource: QuotaResource, units: number): number {
  return resource === 'cpus' ? units / 1000 : units;
}

export function toUnits(resource: QuotaResource, amount: number): number {
  return resource === 'cpus' ? Math.round(amount * 1000) : amount;
}
