import {
  CaissonError,
  type CaissonEvent,
  type Id,
  type NetworkRules,
  refusal,
  type Sandbox,
  type SandboxState,
} from '@caisson/contract';
import { canonicalJson } from '@caisson/workspace-composition';
import { sql } from 'kysely';
import type { Database, Queries } from './database.ts';
import type { EventLog } from './events.ts';
import { sandboxTransaction } from './sandbox-transaction.ts';

export interface StoredRules {
  readonly rules: NetworkRules;
  readonly revision: number;
}

export interface RulesChange {
  /** Those it was made with, where nobody has changed them yet. */
  readonly made: NetworkRules;
  /** Refused with `state_changed` unless this is their revision; 0 is that of rules that nobody has changed. */
  readonly revision?: number | undefined;
  readonly by: string;
  apply(present: NetworkRules): NetworkRules;
}

/**
 * A sandbox that is made from another has the rules of that one, as they are in this transaction. Only within a tenant:
 * where a snapshot says that it comes from is not to be trusted with what somebody else may reach.
 */
export async function inheritRules(tx: Queries, to: Pick<Sandbox, 'id' | 'owner'>, from: string, now: number) {
  await tx
    .insertInto('sandbox_rules')
    .columns(['sandbox', 'rules', 'revision', 'updated_at'])
    .expression((eb) =>
      eb
        .selectFrom('sandbox_rules')
        .innerJoin('sandboxes', 'sandboxes.id', 'sandbox_rules.sandbox')
        .select([
          sql<string>`cast(${to.id} as text)`.as('sandbox'),
          'sandbox_rules.rules',
          sql<number>`1`.as('revision'),
          sql<number>`cast(${now} as bigint)`.as('updated_at'),
        ])
        .where('sandbox_rules.sandbox', '=', from)
        .where('sandboxes.tenant', '=', to.owner.tenant),
    )
    .execute();
}

/**
 * Rules that were changed after their sandbox was made. A row belongs to the sandbox and not to what runs of it: it
 * holds whatever is stopped, started, rolled back or made again, and stays as long as the record does.
 */
export class SandboxRuleStore {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #committed: (event: CaissonEvent) => void;

  constructor(database: Database, events: EventLog, committed: (event: CaissonEvent) => void) {
    this.#database = database;
    this.#events = events;
    this.#committed = committed;
  }

  get(sandbox: string): Promise<StoredRules | undefined> {
    return find(this.#database.db, sandbox);
  }

  /** Those that are not destroyed and whose rules somebody changed. */
  async changed(): Promise<Id<'sandbox'>[]> {
    const rows = await this.#database.db
      .selectFrom('sandbox_rules')
      .innerJoin('sandboxes', 'sandboxes.id', 'sandbox_rules.sandbox')
      .select('sandbox_rules.sandbox')
      .where('sandboxes.state', '<>', 'destroyed')
      .execute();
    return rows.map(({ sandbox }) => sandbox as Id<'sandbox'>);
  }

  /** Changes them with their event. What changes nothing is no change: so a request may be repeated. */
  async change(sandbox: Id<'sandbox'>, change: RulesChange): Promise<StoredRules> {
    const { stored, event } = await sandboxTransaction(this.#database, async (tx) => {
      // The record first: whoever changes the same rules waits here.
      const row = await tx
        .updateTable('sandboxes')
        .set((eb) => ({ sequence: eb('sequence', '+', 0) }))
        .where('id', '=', sandbox)
        .returning(['sequence', 'tenant', 'project', 'state'])
        .executeTakeFirst();
      if (!row) throw new CaissonError('sandbox_not_found', `there is no sandbox ${sandbox}`);
      if (row.state === 'destroyed')
        throw new CaissonError(refusal(row.state as SandboxState), `${sandbox} has been destroyed`);
      const present = (await find(tx, sandbox)) ?? { rules: change.made, revision: 0 };
      const rules = change.apply(present.rules);
      const text = JSON.stringify(rules);
      if (canonicalJson(rules) === canonicalJson(present.rules)) return { stored: present };
      if (change.revision !== undefined && change.revision !== present.revision) {
        const message = `the rules of ${sandbox} are of revision ${present.revision}, not ${change.revision}`;
        throw new CaissonError('state_changed', message, { context: { revision: present.revision } });
      }
      const [now, revision] = [Date.now(), present.revision + 1];
      const values = { rules: text, revision, updated_at: now };
      await tx
        .insertInto('sandbox_rules')
        .values({ sandbox, ...values })
        .onConflict((conflict) => conflict.column('sandbox').doUpdateSet(values))
        .execute();
      const sequence = row.sequence + 1;
      await tx.updateTable('sandboxes').set({ sequence }).where('id', '=', sandbox).execute();
      const { mode, allow, deny } = rules;
      const event = await this.#events.append(tx, {
        type: 'caisson.sandbox.network',
        subject: sandbox,
        sequence,
        tenant: row.tenant,
        project: row.project,
        time: now,
        data: { revision, mode, allow, deny, by: change.by },
      });
      return { stored: { rules, revision }, event };
    });
    if (event) this.#committed(event);
    return stored;
  }
}

async function find(db: Queries, sandbox: string): Promise<StoredRules | undefined> {
  const row = await db
    .selectFrom('sandbox_rules')
    .select(['rules', 'revision'])
    .where('sandbox', '=', sandbox)
    .executeTakeFirst();
  return row && { rules: JSON.parse(row.rules) as NetworkRules, revision: row.revision };
}
