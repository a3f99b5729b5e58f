import {
  type ActorType,
  CaissonError,
  type Owner,
  type PrincipalRecord,
  type ProjectRecord,
  type Role,
  type TenantRecord,
} from '@caisson/contract';
import type { Selectable } from 'kysely';
import type { Database } from './database.ts';
import { refuseAboveMost } from './most-rows.ts';
import { isoTime } from './sandbox-row.ts';
import type { Schema } from './schema.ts';
import type { TenantTable } from './tenancy-schema.ts';

/** Who there is. Rows appear when they are first needed, so that a single machine needs no set-up. */
export class TenantStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async know(owner: Owner, kind: ActorType = 'person'): Promise<void> {
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

  async list(): Promise<TenantRecord[]> {
    const rows = await this.#database.db.selectFrom('tenants').selectAll().orderBy('name').execute();
    return rows.map(toTenant);
  }

  async get(name: string): Promise<TenantRecord | undefined> {
    const row = await this.#database.db.selectFrom('tenants').selectAll().where('name', '=', name).executeTakeFirst();
    return row && toTenant(row);
  }

  /** Makes it where it is not there. */
  async set(name: string, suspended: boolean | undefined): Promise<TenantRecord> {
    const now = Date.now();
    const change = suspended === undefined ? {} : { suspended_at: suspended ? now : null };
    const row = await this.#database.db
      .insertInto('tenants')
      .values({ name, live_sandboxes: 0, created_at: now, ...change })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ name, ...change }))
      .returningAll()
      .executeTakeFirstOrThrow();
    return toTenant(row);
  }

  async projects(tenant: string): Promise<ProjectRecord[]> {
    const query = this.#database.db.selectFrom('projects').selectAll().where('tenant', '=', tenant);
    return (await query.orderBy('name').execute()).map(({ created_at, ...row }) => ({
      ...row,
      createdAt: isoTime(created_at),
    }));
  }

  async setProject(tenant: string, name: string): Promise<ProjectRecord> {
    const { db } = this.#database;
    const present = db.selectFrom('projects').select('name').where('tenant', '=', tenant).where('name', '=', name);
    if (!(await present.executeTakeFirst())) await refuseAboveMost(db, 'projects', tenant);
    const row = await db
      .insertInto('projects')
      .values({ tenant, name, created_at: Date.now() })
      .onConflict((conflict) => conflict.columns(['tenant', 'name']).doUpdateSet({ name }))
      .returningAll()
      .executeTakeFirstOrThrow();
    return { tenant, name, createdAt: isoTime(row.created_at) };
  }

  async principals(tenant: string): Promise<PrincipalRecord[]> {
    const query = this.#database.db.selectFrom('principals').selectAll().where('tenant', '=', tenant);
    return (await query.orderBy('name').execute()).map(toPrincipal);
  }

  async principal(tenant: string, name: string): Promise<PrincipalRecord | undefined> {
    const query = this.#database.db.selectFrom('principals').selectAll().where('tenant', '=', tenant);
    const row = await query.where('name', '=', name).executeTakeFirst();
    return row && toPrincipal(row);
  }

  async setPrincipal(
    tenant: string,
    name: string,
    change: { readonly type?: ActorType | undefined; readonly role?: Role | undefined },
  ): Promise<PrincipalRecord> {
    if (!(await this.principal(tenant, name))) await refuseAboveMost(this.#database.db, 'principals', tenant);
    const { type, role } = change;
    const set = { ...(type === undefined ? {} : { kind: type }), ...(role === undefined ? {} : { role }) };
    const row = await this.#database.db
      .insertInto('principals')
      .values({ tenant, name, kind: 'person', created_at: Date.now(), ...set })
      .onConflict((conflict) => conflict.columns(['tenant', 'name']).doUpdateSet({ name, ...set }))
      .returningAll()
      .executeTakeFirstOrThrow();
    return toPrincipal(row);
  }

  /** Its keys end with it. */
  async removePrincipal(tenant: string, name: string): Promise<PrincipalRecord & { revokedKeys: number }> {
    return this.#database.db.transaction().execute(async (tx) => {
      const row = await tx
        .deleteFrom('principals')
        .where('tenant', '=', tenant)
        .where('name', '=', name)
        .returningAll()
        .executeTakeFirst();
      if (!row) throw new CaissonError('principal_not_found', `there is no principal ${name} in ${tenant}`);
      const revoked = await tx
        .updateTable('api_keys')
        .set({ revoked_at: Date.now() })
        .where('tenant', '=', tenant)
        .where('principal', '=', name)
        .where('revoked_at', 'is', null)
        .returning('id')
        .execute();
      return { ...toPrincipal(row), revokedKeys: revoked.length };
    });
  }
}

function toTenant(row: Selectable<TenantTable>): TenantRecord {
  return {
    name: row.name,
    suspended: row.suspended_at !== null,
    sandboxes: row.live_sandboxes,
    createdAt: isoTime(row.created_at),
  };
}

function toPrincipal(row: Selectable<Schema['principals']>): PrincipalRecord {
  return {
    tenant: row.tenant,
    name: row.name,
    type: row.kind as ActorType,
    role: row.role as Role,
    createdAt: isoTime(row.created_at),
  };
}
