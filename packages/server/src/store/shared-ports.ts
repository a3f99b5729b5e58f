import type { Id } from '@caisson/contract';
import type { Selectable } from 'kysely';
import type { Database, Queries } from './database.ts';
import type { SharedPortTable } from './schema.ts';

/** A port that can be reached from outside, as it is recorded. */
export interface PortShare {
  readonly port: number;
  readonly share: string;
  readonly visibility: 'private' | 'public';
  readonly hostHeader: string;
  readonly tokenHash: string | null;
  readonly openedAt: number;
}

/** They go with their sandbox, in the transaction that ends it. */
export async function forgetSharedPorts(tx: Queries, sandbox: string): Promise<void> {
  await tx.deleteFrom('shared_ports').where('sandbox', '=', sandbox).execute();
}

/** Which ports of which sandboxes are open to the outside. */
export class SharedPortStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async of(sandbox: Id<'sandbox'>): Promise<PortShare[]> {
    const rows = await this.#database.db
      .selectFrom('shared_ports')
      .selectAll()
      .where('sandbox', '=', sandbox)
      .orderBy('port')
      .execute();
    return rows.map(toShare);
  }

  /** Writes it unless the sandbox has ended meanwhile; tells whether it did. */
  async put(sandbox: Id<'sandbox'>, share: PortShare): Promise<boolean> {
    const values = {
      sandbox,
      port: share.port,
      share: share.share,
      visibility: share.visibility,
      host_header: share.hostHeader,
      token_hash: share.tokenHash,
      opened_at: share.openedAt,
    };
    return this.#database.db.transaction().execute(async (tx) => {
      // Taken first, so that an end of the sandbox at the same moment comes before or after, never between.
      const living = await tx
        .updateTable('sandboxes')
        .set((eb) => ({ sequence: eb.ref('sequence') }))
        .where('id', '=', sandbox)
        .where('state', 'not in', ['destroying', 'destroyed'])
        .returning('id')
        .executeTakeFirst();
      if (!living) return false;
      await tx
        .insertInto('shared_ports')
        .values(values)
        .onConflict((conflict) => conflict.columns(['sandbox', 'port']).doUpdateSet(values))
        .execute();
      return true;
    });
  }

  async remove(sandbox: Id<'sandbox'>, port: number): Promise<PortShare | undefined> {
    const row = await this.#database.db
      .deleteFrom('shared_ports')
      .where('sandbox', '=', sandbox)
      .where('port', '=', port)
      .returningAll()
      .executeTakeFirst();
    return row && toShare(row);
  }
}

function toShare(row: Selectable<SharedPortTable>): PortShare {
  return {
    port: row.port,
    share: row.share,
    visibility: row.visibility as PortShare['visibility'],
    hostHeader: row.host_header,
    tokenHash: row.token_hash,
    openedAt: row.opened_at,
  };
}
