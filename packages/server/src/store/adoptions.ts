import type { NetworkRules } from '@caisson/contract';
import { type AttemptImage, endAttempt, insertAttempt, type NewAttempt } from './attempts.ts';
import type { Database } from './database.ts';
import type { EventListener, EventLog } from './events.ts';
import { insertInstance } from './instances.ts';
import { insertLabels } from './labels.ts';
import { newLeaseColumns, noLease } from './lease-columns.ts';
import { takePlace } from './limits.ts';
import { newRow } from './new-sandbox-row.ts';
import { sandboxTransaction } from './sandbox-transaction.ts';
import type { NewSandbox } from './sandboxes.ts';
import { statement } from './statement.ts';
import { type Applied, tellState } from './tell-state.ts';

/** A sandbox that runs and has no record, as far as it is known. */
export interface Found extends NewSandbox {
  readonly incarnation: number;
  readonly state: 'ready' | 'paused';
  readonly createdAt: number;
  readonly attempt: NewAttempt;
  readonly image: AttemptImage | null;
  /** Where they are not those that its blueprint asks for. */
  readonly rules: NetworkRules | null;
}

/** It is there already: its tenant's quotas and credits count, the numbers that a server may hold do not. */
const noLimits = { sandboxesPerTenant: null, sandboxesPerHost: null };

/** Records that are made again from what instances know of themselves. */
export class AdoptionStore {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #committed: EventListener;

  constructor(database: Database, events: EventLog, committed: EventListener) {
    this.#database = database;
    this.#events = events;
    this.#committed = committed;
  }

  /** What `ensure` and one-per-owner look the sandbox up by; its record does not show it. */
  async slotOf(id: string): Promise<string | null> {
    const [row] = await getSlot(this.#database.db, { id });
    return row?.slot ?? null;
  }

  /** Refused, with nothing written, where its name is taken or its tenant has no room for it. */
  async adopt(found: Found): Promise<Applied> {
    const now = Date.now();
    const applied = await sandboxTransaction(this.#database, async (tx) => {
      const { state, incarnation, createdAt, expiresAt, lease = noLease } = found;
      const row = await tx
        .insertInto('sandboxes')
        .values({
          ...newRow(found, found.attempt.id, now),
          ...newLeaseColumns(lease, expiresAt, now),
          state,
          incarnation,
          created_at: createdAt,
          ready_at: now,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      await insertLabels(tx, found.id, found.labels);
      if (found.rules) {
        const rules = { sandbox: found.id, rules: JSON.stringify(found.rules), revision: 1, updated_at: now };
        await tx.insertInto('sandbox_rules').values(rules).execute();
      }
      await insertAttempt(tx, found.attempt, row, now);
      await endAttempt(tx, found.attempt.id, { state: 'succeeded', image: found.image ?? undefined }, now);
      await insertInstance(tx, row, { driver: found.driver, host: found.host }, now);
      // After the record, as at its end: two transactions that lock in another order wait for each other.
      await takePlace(tx, row, noLimits, now, found.terms);
      return tellState(this.#events, tx, row, null, null);
    });
    this.#committed(applied.event, applied.sandbox);
    return applied;
  }
}

const getSlot = statement((queries, { id }: { id: string }) =>
  queries.selectFrom('sandboxes').select('slot').where('id', '=', id),
);
