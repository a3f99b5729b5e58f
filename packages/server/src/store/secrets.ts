import { CaissonError, maxSecrets, type Secret } from '@caisson/contract';
import { type Selectable, sql } from 'kysely';
import type { Database } from './database.ts';
import { retryDeadlocks } from './database-errors.ts';
import { isoTime } from './sandbox-row.ts';
import type { SecretTable } from './schema.ts';

export interface SecretPlace {
  readonly tenant: string;
  readonly project: string;
}

export interface SecretHeader {
  readonly name: string;
  readonly format: string;
}

/** Where a secret goes and how: what its sealed value is bound to. */
export interface SecretUse {
  readonly domains: readonly string[];
  readonly ports: readonly number[];
  readonly header: SecretHeader | null;
}

export interface NewSecret extends SecretPlace, SecretUse {
  readonly name: string;
  readonly sealed: string;
  readonly placeholder: string | null;
  /** A placeholder that it has already stays: what holds it inside goes on working. */
  readonly keepsPlaceholder: boolean;
  readonly env: string | null;
}

/** A row with what only the way out may see. */
export interface StoredSecret extends SecretPlace, SecretUse {
  readonly name: string;
  readonly sealed: string;
  readonly placeholder: string | null;
  readonly env: string | null;
}

/** Secrets, sealed. Whoever reads the database alone reads no value. */
export class SecretStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async put(secret: NewSecret, now = Date.now()): Promise<Secret> {
    const { tenant, project, name, sealed, env } = secret;
    const changed = {
      sealed,
      env,
      domains: JSON.stringify(secret.domains),
      ports: JSON.stringify(secret.ports),
      header: secret.header === null ? null : JSON.stringify(secret.header),
      updated_at: now,
    };
    const { placeholder, keepsPlaceholder } = secret;
    const row = await retryDeadlocks(() =>
      this.#database.db.transaction().execute(async (tx) => {
        const written = await tx
          .insertInto('secrets')
          .values({ tenant, project, name, placeholder, created_at: now, last_used_at: null, ...changed })
          .onConflict((conflict) =>
            conflict.columns(['tenant', 'project', 'name']).doUpdateSet({
              ...changed,
              placeholder: keepsPlaceholder
                ? sql<string | null>`coalesce(secrets.placeholder, excluded.placeholder)`
                : placeholder,
            }),
          )
          .returningAll()
          .executeTakeFirstOrThrow();
        const { count } = await tx
          .selectFrom('secrets')
          .select(({ fn }) => fn.countAll<number | string>().as('count'))
          .where('tenant', '=', tenant)
          .where('project', '=', project)
          .executeTakeFirstOrThrow();
        if (Number(count) > maxSecrets)
          throw new CaissonError('quota_exceeded', `a project has at most ${maxSecrets} secrets`);
        return written;
      }),
    );
    return toSecret(row);
  }

  /** By name. */
  async list({ tenant, project }: SecretPlace): Promise<Secret[]> {
    return (await this.#rows({ tenant, project })).map(toSecret);
  }

  /** With their sealed values; of everybody when no place is named. */
  async sealed(place?: SecretPlace): Promise<StoredSecret[]> {
    return (await this.#rows(place)).map(toStored);
  }

  async delete({ tenant, project }: SecretPlace, name: string): Promise<Secret | undefined> {
    const row = await this.#database.db
      .deleteFrom('secrets')
      .where('tenant', '=', tenant)
      .where('project', '=', project)
      .where('name', '=', name)
      .returningAll()
      .executeTakeFirst();
    return row && toSecret(row);
  }

  async used({ tenant, project }: SecretPlace, name: string, at: number): Promise<void> {
    await this.#database.db
      .updateTable('secrets')
      .set({ last_used_at: at })
      .where('tenant', '=', tenant)
      .where('project', '=', project)
      .where('name', '=', name)
      .execute();
  }

  async #rows(place?: SecretPlace): Promise<Selectable<SecretTable>[]> {
    let query = this.#database.db.selectFrom('secrets').selectAll();
    if (place) query = query.where('tenant', '=', place.tenant).where('project', '=', place.project);
    return query.orderBy('tenant').orderBy('project').orderBy('name').execute();
  }
}

function toStored(row: Selectable<SecretTable>): StoredSecret {
  return {
    tenant: row.tenant,
    project: row.project,
    name: row.name,
    sealed: row.sealed,
    domains: JSON.parse(row.domains) as string[],
    ports: JSON.parse(row.ports) as number[],
    header: row.header === null ? null : (JSON.parse(row.header) as SecretHeader),
    placeholder: row.placeholder,
    env: row.env,
  };
}

function toSecret(row: Selectable<SecretTable>): Secret {
  const { name, domains, ports, header, placeholder, env } = toStored(row);
  return {
    name,
    domains: [...domains],
    ports: [...ports],
    header: header?.name ?? null,
    placeholder,
    env,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    lastUsedAt: isoTime(row.last_used_at),
  };
}
