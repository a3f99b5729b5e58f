import { localOwner, type RepairData } from '@caisson/contract';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { EventListener, EventLog } from './events.ts';

export interface HostRepair extends RepairData {
  readonly name: string;
  readonly driver: string | null;
}

/**
 * Repairs of what has no record that could tell of them. They are events of the installation, whose sequence stands beside
 * its id, and are told to its own tenant: whoever they are about cannot be known.
 */
export class HostRepairStore {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #committed: EventListener;
  readonly #subject: string;

  constructor(database: Database, events: EventLog, committed: EventListener, installation: string) {
    this.#database = database;
    this.#events = events;
    this.#committed = committed;
    this.#subject = installation;
  }

  async tell({ name, driver, kind, found, did }: HostRepair): Promise<void> {
    const event = await this.#database.db.transaction().execute(async (tx) => {
      const row = await tx
        .insertInto('meta')
        .values({ key: 'host_repairs', value: '1' })
        .onConflict((conflict) =>
          conflict.column('key').doUpdateSet({ value: sql`cast(cast(meta.value as bigint) + 1 as text)` }),
        )
        .returning('value')
        .executeTakeFirstOrThrow();
      const { tenant, project } = localOwner;
      return this.#events.append(tx, {
        type: 'caisson.host.repair',
        subject: this.#subject,
        sequence: Number(row.value),
        tenant,
        project,
        time: Date.now(),
        data: { kind, name, driver, found, did },
      });
    });
    this.#committed(event);
  }
}
