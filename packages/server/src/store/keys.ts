import type { ActorType, ApiKey, Id, Owner, Role, Scope } from '@caisson/contract';
import type { Selectable } from 'kysely';
import type { Database } from './database.ts';
import { refuseAboveMost } from './most-rows.ts';
import { isoTime } from './sandbox-row.ts';
import type { ApiKeyTable } from './schema.ts';

export interface NewKey {
  readonly id: Id<'key'>;
  readonly hash: string;
  readonly name: string;
  readonly owner: Owner;
  readonly scope: Scope;
  readonly expiresAt: number | null;
}

/** A key as it counts: by itself, and by its tenant and its principal. */
export interface KnownKey extends ApiKey {
  readonly suspended: boolean;
  readonly actor: ActorType;
  readonly role: Role;
}

/** API keys. Only hashes are stored: whoever reads the database cannot use a key. */
export class KeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Throws when the tenant has as many keys as it may have. */
  async requireRoom(tenant: string): Promise<void> {
    await refuseAboveMost(this.#database.db, 'api_keys', tenant);
  }

  async create(key: NewKey): Promise<ApiKey> {
    const { tenant, project, principal } = key.owner;
    const row = await this.#database.db
      .insertInto('api_keys')
      .values({
        id: key.id,
        hash: key.hash,
        name: key.name,
        tenant,
        project,
        principal,
        scope: key.scope,
        created_at: Date.now(),
        expires_at: key.expiresAt,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return toKey(row);
  }

  /** With what its tenant and its principal make of it. */
  async findByHash(hash: string): Promise<KnownKey | undefined> {
    const row = await this.#database.db
      .selectFrom('api_keys')
      .leftJoin('tenants', 'tenants.name', 'api_keys.tenant')
      .leftJoin('principals', (join) =>
        join.onRef('principals.tenant', '=', 'api_keys.tenant').onRef('principals.name', '=', 'api_keys.principal'),
      )
      .selectAll('api_keys')
      .select(['tenants.suspended_at', 'principals.kind', 'principals.role'])
      .where('hash', '=', hash)
      .executeTakeFirst();
    if (!row) return undefined;
    const actor = (row.kind ?? 'person') as ActorType;
    return { ...toKey(row), suspended: row.suspended_at !== null, actor, role: (row.role ?? 'admin') as Role };
  }

  async get(id: string): Promise<ApiKey | undefined> {
    const row = await this.#database.db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
    return row && toKey(row);
  }

  /** Newest first; of every tenant when none is named. */
  async list(tenant: string | undefined, limit: number, after?: string): Promise<ApiKey[]> {
    let query = this.#database.db.selectFrom('api_keys').selectAll();
    if (tenant !== undefined) query = query.where('tenant', '=', tenant);
    if (after !== undefined) query = query.where('id', '<', after);
    const rows = await query.orderBy('id', 'desc').limit(limit).execute();
    return rows.map(toKey);
  }

  /** Revoking a revoked key keeps the first time. */
  async revoke(id: string): Promise<ApiKey | undefined> {
    const { db } = this.#database;
    await db
      .updateTable('api_keys')
      .set({ revoked_at: Date.now() })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .execute();
    return this.get(id);
  }

  /** Whether anybody has configured keys: from then on loopback asks for one. */
  async any(): Promise<boolean> {
    const row = await this.#database.db
      .selectFrom('api_keys')
      .select('id')
      .where('revoked_at', 'is', null)
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }
}

function toKey(row: Selectable<ApiKeyTable>): ApiKey {
  return {
    id: row.id as Id<'key'>,
    name: row.name,
    owner: { tenant: row.tenant, project: row.project, principal: row.principal },
    scope: row.scope as Scope,
    createdAt: isoTime(row.created_at),
    expiresAt: isoTime(row.expires_at),
    revokedAt: isoTime(row.revoked_at),
  };
}
