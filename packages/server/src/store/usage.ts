import { type Id, newId, type UsageRecord } from '@caisson/contract';
import type { Selectable } from 'kysely';
import { takeTurn } from './advisory-locks.ts';
import type { Database, Queries } from './database.ts';
import { isPostgres } from './ledger.ts';
import { isoTime, type SandboxRow } from './sandbox-row.ts';
import type { UsageTable } from './tenancy-schema.ts';

type Stretch = Pick<Selectable<UsageTable>, 'phase' | 'began_at' | 'ended_at' | 'per_hour' | 'charged' | 'unpaid'>;

/**
 * A stretch of time at one price is over. The hook of usage follows the positions, so writers take turns: after the row of
 * the tenant, before that of a host.
 */
export async function insertUsage(tx: Queries, stretch: Stretch, row: SandboxRow): Promise<void> {
  if (isPostgres(tx)) await takeTurn(tx, 'usage');
  await tx
    .insertInto('usage')
    .values({
      id: newId('entry', stretch.ended_at),
      tenant: row.tenant,
      project: row.project,
      principal: row.principal,
      sandbox: row.id,
      driver: row.driver ?? '',
      host: row.host ?? '',
      cpu_millis: row.cpu_millis,
      memory_mib: row.memory_mib,
      disk_mib: row.disk_mib,
      ...stretch,
    })
    .execute();
}

export interface UsageFilter {
  readonly tenant?: string | undefined;
  readonly project?: string | undefined;
  readonly sandbox?: string | undefined;
  /** Stretches that ended within. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only after this position. */
  readonly after: number;
  readonly limit: number;
}

/** What was used, oldest first. */
export class UsageLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list(filter: UsageFilter): Promise<UsageRecord[]> {
    let query = this.#database.db.selectFrom('usage').selectAll().where('position', '>', filter.after);
    if (filter.tenant !== undefined) query = query.where('tenant', '=', filter.tenant);
    if (filter.project !== undefined) query = query.where('project', '=', filter.project);
    if (filter.sandbox !== undefined) query = query.where('sandbox', '=', filter.sandbox);
    if (filter.since !== undefined) query = query.where('ended_at', '>=', filter.since);
    if (filter.until !== undefined) query = query.where('ended_at', '<', filter.until);
    const rows = await query.orderBy('position').limit(filter.limit).execute();
    return rows.map(toRecord);
  }

  /** How far whoever is told of it has come. */
  async told(): Promise<number> {
    const row = await this.#database.db
      .selectFrom('meta')
      .select('value')
      .where('key', '=', 'usage_told')
      .executeTakeFirst();
    return Number(row?.value ?? 0);
  }

  async setTold(position: number): Promise<void> {
    await this.#database.db
      .insertInto('meta')
      .values({ key: 'usage_told', value: String(position) })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: String(position) }))
      .execute();
  }
}

function toRecord(row: Selectable<UsageTable>): UsageRecord {
  return {
    position: row.position,
    id: row.id as Id<'entry'>,
    tenant: row.tenant,
    project: row.project,
    principal: row.principal,
    sandbox: row.sandbox as Id<'sandbox'>,
    driver: row.driver,
    host: row.host,
    phase: row.phase as UsageRecord['phase'],
    from: isoTime(row.began_at),
    to: isoTime(row.ended_at),
    seconds: (row.ended_at - row.began_at) / 1000,
    cpus: row.cpu_millis / 1000,
    memoryMiB: row.memory_mib,
    diskMiB: row.disk_mib,
    perHourMicros: row.per_hour,
    chargedMicros: row.charged,
    unpaidMicros: row.unpaid,
  };
}
