import type { ApiKey, Id, Owner, Scope } from '@caisson/contract';
import type { Selectable } from 'kysely';
import type { Database } from './database.ts';
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

/** API keys. Only hashes are stored: whoever reads the database cannot use a key. */
export class KeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
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

  async findByHash(hash: string): Promise<ApiKey | undefined> {
    const row = await this.#database.db.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst();
    return row && toKey(row);
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
