import { CaissonError, type Id } from '@caisson/contract';
import type { Database, Queries } from './database.ts';

/** A request that may be repeated: who sent it, the key they gave it, and a digest of what it asked. */
export interface IdempotentRequest {
  readonly caller: string;
  readonly key: string;
  readonly requestHash: string;
}

export interface IdempotentAnswer {
  readonly requestHash: string;
  readonly sandbox: Id<'sandbox'> | null;
  readonly answer: { readonly status: number; readonly body: unknown } | null;
}

/** Clients retry for minutes; a day is what they may rely on. */
export const idempotencyKeptMs = 24 * 3_600_000;

/** Written in the transaction that does the work, so that there is no work without its key and no key without its work. */
export async function insertIdempotency(
  tx: Queries,
  request: IdempotentRequest,
  sandbox: string,
  now: number,
): Promise<void> {
  const inserted = await tx
    .insertInto('idempotency')
    .values({ caller: request.caller, key: request.key, request_hash: request.requestHash, sandbox, created_at: now })
    .onConflict((conflict) => conflict.columns(['caller', 'key']).doNothing())
    .returning('key')
    .executeTakeFirst();
  if (!inserted) throw new CaissonError('idempotency_in_progress');
}

/** The same for what is done when the transaction is: the answer is there with it. */
export async function insertAnswer(
  tx: Queries,
  request: IdempotentRequest,
  status: number,
  body: unknown,
): Promise<void> {
  const { caller, key, requestHash } = request;
  const inserted = await tx
    .insertInto('idempotency')
    .values({
      caller,
      key,
      request_hash: requestHash,
      status,
      answer: JSON.stringify(body),
      created_at: Date.now(),
    })
    .onConflict((conflict) => conflict.columns(['caller', 'key']).doNothing())
    .returning('key')
    .executeTakeFirst();
  if (!inserted) throw new CaissonError('idempotency_in_progress');
}

export class IdempotencyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async get(caller: string, key: string): Promise<IdempotentAnswer | undefined> {
    const row = await this.#database.db
      .selectFrom('idempotency')
      .selectAll()
      .where('caller', '=', caller)
      .where('key', '=', key)
      .executeTakeFirst();
    if (!row) return undefined;
    const answer =
      row.status === null || row.answer === null
        ? null
        : { status: row.status, body: JSON.parse(row.answer) as unknown };
    return { requestHash: row.request_hash, sandbox: row.sandbox as Id<'sandbox'> | null, answer };
  }

  /** The answer of a finished request; the first one stays. A request that changed nothing has no row until now. */
  async answer(request: IdempotentRequest, status: number, body: unknown): Promise<void> {
    const answer = JSON.stringify(body);
    const { caller, key, requestHash } = request;
    await this.#database.db
      .insertInto('idempotency')
      .values({ caller, key, request_hash: requestHash, status, answer, created_at: Date.now() })
      .onConflict((conflict) =>
        conflict.columns(['caller', 'key']).doUpdateSet({ status, answer }).where('idempotency.status', 'is', null),
      )
      .execute();
  }

  async prune(now = Date.now()): Promise<void> {
    await this.#database.db
      .deleteFrom('idempotency')
      .where('created_at', '<', now - idempotencyKeptMs)
      .execute();
  }
}
