import { CaissonError, type Id, type Sandbox, type ToolAnswer } from '@caisson/contract';
import type { Database, Queries } from './database.ts';

export interface KeptCall {
  readonly requestHash: string;
  /** Null while it runs, and for ever when its server ended before the tool did. */
  readonly answer: ToolAnswer | null;
}

/** Agents repeat a call within minutes; a day is what they may rely on. */
const keptMs = 24 * 3_600_000;
/** Of one sandbox; an answer may be large, and an agent in a loop makes many. */
const maxKept = 1_000;
/** The bound is looked at once in so many calls, so that it costs nothing. */
const lookEvery = 50;

/** They go with their sandbox, in the transaction that ends it. */
export async function forgetToolCalls(tx: Queries, sandbox: string): Promise<void> {
  await tx.deleteFrom('tool_calls').where('sandbox', '=', sandbox).execute();
}

/**
 * Calls of tools. The row is there before the tool runs, and its answer when it has run: a call without an answer that
 * nobody runs was cut short, and is never run again.
 */
export class ToolCallStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async get(sandbox: Id<'sandbox'>, callId: string): Promise<KeptCall | undefined> {
    const row = await this.#database.db
      .selectFrom('tool_calls')
      .select(['request_hash', 'answer'])
      .where('sandbox', '=', sandbox)
      .where('call_id', '=', callId)
      .executeTakeFirst();
    if (!row) return undefined;
    return {
      requestHash: row.request_hash,
      answer: row.answer === null ? null : (JSON.parse(row.answer) as ToolAnswer),
    };
  }

  async begin({ id, owner }: Sandbox, callId: string, requestHash: string): Promise<void> {
    const inserted = await this.#database.db
      .insertInto('tool_calls')
      .values({
        sandbox: id,
        call_id: callId,
        tenant: owner.tenant,
        request_hash: requestHash,
        answer: null,
        created_at: Date.now(),
      })
      .onConflict((conflict) => conflict.columns(['sandbox', 'call_id']).doNothing())
      .returning('call_id')
      .executeTakeFirst();
    // Another server on the same database was quicker, and the tool is its own.
    if (!inserted) throw new CaissonError('tool_interrupted', `the call ${callId} was begun elsewhere`);
    // By chance, so that no two that take turns keep each other from being looked at.
    if (Math.random() * lookEvery < 1) await this.#limit(id);
  }

  async answer(sandbox: Id<'sandbox'>, callId: string, answer: ToolAnswer): Promise<void> {
    await this.#database.db
      .updateTable('tool_calls')
      .set({ answer: JSON.stringify(answer) })
      .where('sandbox', '=', sandbox)
      .where('call_id', '=', callId)
      .execute();
  }

  /** Of a call that changed nothing: it may be made again. */
  async forget(sandbox: Id<'sandbox'>, callId: string): Promise<void> {
    await this.#database.db
      .deleteFrom('tool_calls')
      .where('sandbox', '=', sandbox)
      .where('call_id', '=', callId)
      .execute();
  }

  async prune(now = Date.now()): Promise<void> {
    await this.#database.db
      .deleteFrom('tool_calls')
      .where('created_at', '<', now - keptMs)
      .execute();
  }

  async #limit(sandbox: Id<'sandbox'>): Promise<void> {
    const { db } = this.#database;
    const oldest = await db
      .selectFrom('tool_calls')
      .select('created_at')
      .where('sandbox', '=', sandbox)
      .orderBy('created_at', 'desc')
      .offset(maxKept)
      .limit(1)
      .executeTakeFirst();
    if (!oldest) return;
    await db
      .deleteFrom('tool_calls')
      .where('sandbox', '=', sandbox)
      .where('created_at', '<=', oldest.created_at)
      .where('answer', 'is not', null)
      .execute();
  }
}
