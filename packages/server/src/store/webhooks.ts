import { CaissonError, type Id, type Labels, maxWebhooks } from '@caisson/contract';
import type { Selectable } from 'kysely';
import type { Database } from './database.ts';
import type { WebhookTable } from './schema.ts';
import { forgetSink } from './sinks.ts';

export interface StoredWebhook {
  readonly id: Id<'webhook'>;
  readonly tenant: string;
  readonly project: string;
  readonly principal: string;
  readonly url: string;
  readonly description: string | null;
  readonly types: readonly string[] | null;
  readonly labels: Labels;
  /** Its secret, encrypted with a key that is not here. */
  readonly sealed: string;
  /** The secret before this one, which signs too until then. */
  readonly old: { readonly sealed: string; readonly until: number } | null;
  readonly createdAt: number;
}

export type NewWebhook = Omit<StoredWebhook, 'old' | 'createdAt'>;

/** Webhooks: where events go, and what signs them. How far each has come is its sink's. */
export class WebhookStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Its first position is written with it: from here on nothing is missed. */
  async add(webhook: NewWebhook, position: number): Promise<StoredWebhook> {
    const { id, tenant, project, principal, url, description, sealed } = webhook;
    const now = Date.now();
    const values = {
      ...{ id, tenant, project, principal, url, description, sealed },
      types: webhook.types === null ? null : JSON.stringify(webhook.types),
      labels: JSON.stringify(webhook.labels),
      created_at: now,
    };
    const row = await this.#database.db.transaction().execute(async (tx) => {
      const written = await tx.insertInto('webhooks').values(values).returningAll().executeTakeFirstOrThrow();
      // Those of a tenant wait for each other here: two cannot both take the last place.
      await tx
        .insertInto('tenants')
        .values({ name: tenant, live_sandboxes: 0, created_at: now })
        .onConflict((conflict) =>
          conflict.column('name').doUpdateSet((eb) => ({ live_sandboxes: eb('tenants.live_sandboxes', '+', 0) })),
        )
        .execute();
      const { count } = await tx
        .selectFrom('webhooks')
        .select(({ fn }) => fn.countAll<number | string>().as('count'))
        .where('tenant', '=', tenant)
        .executeTakeFirstOrThrow();
      if (Number(count) > maxWebhooks)
        throw new CaissonError('quota_exceeded', `a tenant has at most ${maxWebhooks} webhooks`);
      await tx.insertInto('sinks').values({ name: id, position, holder: null, updated_at: now }).execute();
      return written;
    });
    return toStored(row);
  }

  async get(id: string): Promise<StoredWebhook | undefined> {
    const row = await this.#database.db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst();
    return row && toStored(row);
  }

  /** Of one project, oldest first; of everybody when none is named. */
  async list(place?: { readonly tenant: string; readonly project: string }): Promise<StoredWebhook[]> {
    let query = this.#database.db.selectFrom('webhooks').selectAll();
    if (place) query = query.where('tenant', '=', place.tenant).where('project', '=', place.project);
    return (await query.orderBy('id').execute()).map(toStored);
  }

  async rotate(id: string, sealed: string, old: { sealed: string; until: number }): Promise<StoredWebhook | undefined> {
    const row = await this.#database.db
      .updateTable('webhooks')
      .set({ sealed, old_sealed: old.sealed, old_until: old.until })
      .where('id', '=', id)
      // Of two at once, one would make a secret that nobody was shown sign nothing.
      .where('sealed', '=', old.sealed)
      .returningAll()
      .executeTakeFirst();
    return row && toStored(row);
  }

  async remove(id: string): Promise<void> {
    await this.#database.db.transaction().execute(async (tx) => {
      await tx.deleteFrom('webhooks').where('id', '=', id).execute();
      await forgetSink(tx, id);
    });
  }
}

function toStored(row: Selectable<WebhookTable>): StoredWebhook {
  const { id, tenant, project, principal, url, description, sealed, old_sealed: oldSealed, old_until: until } = row;
  return {
    ...{ tenant, project, principal, url, description, sealed },
    id: id as Id<'webhook'>,
    types: row.types === null ? null : (JSON.parse(row.types) as string[]),
    labels: JSON.parse(row.labels) as Labels,
    old: oldSealed === null || until === null ? null : { sealed: oldSealed, until },
    createdAt: row.created_at,
  };
}
