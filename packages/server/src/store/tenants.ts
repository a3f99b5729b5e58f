import type { Owner } from '@caisson/contract';
import type { Database } from './database.ts';

/** Who there is. Rows appear when they are first needed, so that a single machine needs no set-up. */
export class TenantStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async know(owner: Owner, kind: 'person' | 'agent' | 'automation' = 'person'): Promise<void> {
    const created_at = Date.now();
    await this.#database.db.transaction().execute(async (tx) => {
      await tx
        .insertInto('tenants')
        .values({ name: owner.tenant, live_sandboxes: 0, created_at })
        .onConflict((conflict) => conflict.column('name').doNothing())
        .execute();
      await tx
        .insertInto('projects')
        .values({ tenant: owner.tenant, name: owner.project, created_at })
        .onConflict((conflict) => conflict.columns(['tenant', 'name']).doNothing())
        .execute();
      await tx
        .insertInto('principals')
        .values({ tenant: owner.tenant, name: owner.principal, kind, created_at })
        .onConflict((conflict) => conflict.columns(['tenant', 'name']).doNothing())
        .execute();
    });
  }

  /** `null` leaves the general limit in force. */
  async limit(tenant: string, maxSandboxes: number | null): Promise<void> {
    await this.#database.db
      .updateTable('tenants')
      .set({ max_sandboxes: maxSandboxes })
      .where('name', '=', tenant)
      .execute();
  }

  async liveSandboxes(tenant: string): Promise<number> {
    const row = await this.#database.db
      .selectFrom('tenants')
      .select('live_sandboxes')
      .where('name', '=', tenant)
      .executeTakeFirst();
    return row?.live_sandboxes ?? 0;
  }
}

export class HostStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async seen(name: string, version: string, now: number = Date.now()): Promise<void> {
    await this.#database.db
      .insertInto('hosts')
      .values({ name, version, live_sandboxes: 0, seen_at: now })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ version, seen_at: now }))
      .execute();
  }

  async list(): Promise<
    { name: string; version: string; liveSandboxes: number; maxSandboxes: number | null; seenAt: number }[]
  > {
    const rows = await this.#database.db.selectFrom('hosts').selectAll().orderBy('name').execute();
    return rows.map((row) => ({
      name: row.name,
      version: row.version,
      liveSandboxes: row.live_sandboxes,
      maxSandboxes: row.max_sandboxes,
      seenAt: row.seen_at,
    }));
  }
}
