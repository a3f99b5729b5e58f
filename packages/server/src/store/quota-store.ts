import { CaissonError, type CaissonEvent, type Quota, type QuotaLimits, quotaResources } from '@caisson/contract';
import { sql } from 'kysely';
import { countBuilds } from './build-quota.ts';
import type { Database, Queries } from './database.ts';
import { retryDeadlocks } from './database-errors.ts';
import type { EventListener, EventLog } from './events.ts';
import { type Amounts, countedColumns, countedResources, fromUnits, type QuotaRow, toUnits } from './quotas.ts';

const maxProjects = 1_000;

/** Quotas as they are set, shown and put right. Counting is in `quotas.ts`. */
export class QuotaStore {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #committed: EventListener;

  constructor(database: Database, events: EventLog, committed: EventListener) {
    this.#database = database;
    this.#events = events;
    this.#committed = committed;
  }

  /** Changes the named limits of a tenant (`project` null) or of one of its projects; null takes a limit away. */
  async set(tenant: string, project: string | null, limits: QuotaLimits): Promise<Quota> {
    const key = { tenant, project: project ?? '' };
    // It waits for every writer: one for each of countless names would hold up everybody.
    if (
      project !== null &&
      (await this.projects(tenant)).length >= maxProjects &&
      !(await find(this.#database.db, key))
    )
      throw new CaissonError('quota_exceeded', `a tenant has quotas for at most ${maxProjects} projects`);
    await retryDeadlocks(() =>
      this.#database.db.transaction().execute(async (tx) => {
        await this.#standStill(tx);
        const present = await find(tx, key);
        const next = { ...emptyRow(key), ...present, ...columnsOf(limits) };
        const values = { ...next, ...usedColumns(await this.#counted(tx, key)) };
        await tx.deleteFrom('quotas').where('tenant', '=', tenant).where('project', '=', key.project).execute();
        if (isLimited(next)) await tx.insertInto('quotas').values(values).execute();
        await tx
          .insertInto('tenants')
          .values({ name: tenant, live_sandboxes: 0, created_at: Date.now() })
          .onConflict((conflict) => conflict.column('name').doNothing())
          .execute();
        await tx
          .updateTable('tenants')
          .set((eb) => ({
            quotas: eb
              .selectFrom('quotas')
              .select((inner) => inner.fn.countAll<number>().as('rows'))
              .where('tenant', '=', tenant),
          }))
          .where('name', '=', tenant)
          .execute();
      }),
    );
    return this.get(tenant, project);
  }

  async get(tenant: string, project: string | null): Promise<Quota> {
    const { db } = this.#database;
    const key = { tenant, project: project ?? '' };
    const row = await find(db, key);
    const used = row ? usedOf(row) : await this.#counted(db, key);
    const builds = await countBuilds(db, key);
    const items = quotaResources.map((resource) => {
      const units = resource === 'builds' ? builds : used[resource];
      const limit = (resource === 'builds' ? row?.max_builds : row?.[`max_${countedColumns[resource]}`]) ?? null;
      return { resource, used: fromUnits(resource, units), limit: limit === null ? null : fromUnits(resource, limit) };
    });
    return { tenant, project, items };
  }

  /** The projects of a tenant that have limits of their own. */
  async projects(tenant: string): Promise<string[]> {
    const { db } = this.#database;
    const rows = await db
      .selectFrom('quotas')
      .select('project')
      .where('tenant', '=', tenant)
      .orderBy('project')
      .execute();
    return rows.map((row) => row.project).filter((project) => project !== '');
  }

  /** Puts right what is counted wrong. Each difference is told as an event; there is none unless something is broken. */
  async repair(): Promise<{ tenant: string; project: string | null; found: string }[]> {
    const rows = await this.#database.db.selectFrom('quotas').selectAll().execute();
    const repaired = [];
    for (const row of rows) {
      // Read without a lock this may be wrong for a moment; what seems wrong is looked at again with one.
      if (difference(row, await this.#counted(this.#database.db, row)) === undefined) continue;
      const found = await this.#repairOne(row);
      if (found) repaired.push({ tenant: row.tenant, project: row.project || null, found });
    }
    return repaired;
  }

  async #repairOne({ tenant, project }: QuotaRow): Promise<string | undefined> {
    const told: CaissonEvent[] = [];
    const found = await retryDeadlocks(() =>
      this.#database.db.transaction().execute(async (tx) => {
        told.length = 0;
        await this.#standStill(tx);
        const row = await find(tx, { tenant, project });
        const counted = row && (await this.#counted(tx, row));
        const differs = row && counted && difference(row, counted);
        if (!row || !counted || differs === undefined) return undefined;
        const repairs = row.repairs + 1;
        await tx
          .updateTable('quotas')
          .set({ ...usedColumns(counted), repairs })
          .where('tenant', '=', tenant)
          .where('project', '=', project)
          .execute();
        const event = await this.#events.append(tx, {
          type: 'caisson.tenant.quota-repair',
          subject: project === '' ? tenant : `${tenant}/${project}`,
          sequence: repairs,
          tenant,
          project,
          time: Date.now(),
          data: { project: project || null, found: differs },
        });
        told.push(event);
        return differs;
      }),
    );
    for (const event of told) this.#committed(event);
    return found;
  }

  /** Until the end of the transaction nobody adds to or takes from what is counted. SQLite has one writer anyway. */
  async #standStill(tx: Queries): Promise<void> {
    if (this.#database.engine === 'postgres')
      await sql`lock table sandboxes, snapshots in share row exclusive mode`.execute(tx);
  }

  async #counted(queries: Queries, { tenant, project }: { tenant: string; project: string }): Promise<Amounts> {
    let living = queries
      .selectFrom('sandboxes')
      .select((eb) => [
        eb.fn.countAll().as('sandboxes'),
        eb.fn.sum('cpu_millis').as('cpus'),
        eb.fn.sum('memory_mib').as('memory'),
        eb.fn.sum('disk_mib').as('disk'),
      ])
      .where('tenant', '=', tenant)
      .where(sql<boolean>`state <> 'destroyed'`);
    let kept = queries
      .selectFrom('snapshots')
      .select((eb) => eb.fn.countAll().as('snapshots'))
      .where('tenant', '=', tenant)
      .where('kind', '<>', 'fork');
    if (project !== '') {
      living = living.where('project', '=', project);
      kept = kept.where('project', '=', project);
    }
    const { sandboxes, cpus, memory, disk } = await living.executeTakeFirstOrThrow();
    const { snapshots } = await kept.executeTakeFirstOrThrow();
    // Postgres answers sums as text, and sums of nothing are null.
    return {
      sandboxes: Number(sandboxes),
      cpus: Number(cpus ?? 0),
      memoryMiB: Number(memory ?? 0),
      diskMiB: Number(disk ?? 0),
      snapshots: Number(snapshots),
    };
  }
}

function find(queries: Queries, { tenant, project }: { tenant: string; project: string }) {
  return queries
    .selectFrom('quotas')
    .selectAll()
    .where('tenant', '=', tenant)
    .where('project', '=', project)
    .executeTakeFirst();
}

function emptyRow(key: { tenant: string; project: string }) {
  const none = Object.fromEntries(
    countedResources.flatMap((name) => [[`used_${countedColumns[name]}`, 0]]),
  ) as ReturnType<typeof usedColumns>;
  return { ...key, repairs: 0, ...none };
}

function usedColumns(amounts: Amounts) {
  return {
    used_sandboxes: amounts.sandboxes,
    used_cpu_millis: amounts.cpus,
    used_memory_mib: amounts.memoryMiB,
    used_disk_mib: amounts.diskMiB,
    used_snapshots: amounts.snapshots,
  };
}

function usedOf(row: QuotaRow): Amounts {
  return Object.fromEntries(
    countedResources.map((name) => [name, row[`used_${countedColumns[name]}`]]),
  ) as unknown as Amounts;
}

function columnsOf(limits: QuotaLimits): Partial<QuotaRow> {
  const columns: Record<string, number | null> = {};
  for (const resource of quotaResources) {
    const limit = limits[resource];
    const column = resource === 'builds' ? 'builds' : countedColumns[resource];
    if (limit !== undefined) columns[`max_${column}`] = limit === null ? null : toUnits(resource, limit);
  }
  return columns;
}

function isLimited(row: Partial<QuotaRow>): boolean {
  return Object.entries(row).some(([name, value]) => name.startsWith('max_') && value !== null && value !== undefined);
}

function difference(row: QuotaRow, counted: Amounts): string | undefined {
  const wrong = countedResources.flatMap((name) => {
    const used = row[`used_${countedColumns[name]}`];
    return used === counted[name]
      ? []
      : [`${name}: ${fromUnits(name, used)} counted, ${fromUnits(name, counted[name])} there`];
  });
  return wrong.length === 0 ? undefined : wrong.join('; ');
}
