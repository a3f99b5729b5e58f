import { CaissonError, type CreditAccount, type CreditKind, newId } from '@caisson/contract';
import { PostgresAdapter } from 'kysely';
import type { Queries } from './database.ts';
import { statement } from './statement.ts';

/**
 * The ledger.
 *
 * Laws
 * - Every movement is two rows of one transfer whose amounts add up to nothing. Rows are never changed or removed; the
 *   database refuses it.
 * - The columns of a tenant are the sums of its accounts, and change in the same transaction: `credits` is `available`,
 *   `credits_held` is `held`, `credits_used` is `earned`. None of them falls below nothing.
 * - A tenant whose `credits` is null is without limit, and has no rows.
 * - Positions tell the order of one tenant's movements, which wait for its row. Those of different tenants wait for nothing.
 */
export interface Movement {
  readonly tenant: string;
  readonly kind: CreditKind;
  /** Above nothing but for a grant, which may be taken back. */
  readonly amount: number;
  readonly sandbox?: string;
  readonly note?: string | undefined;
  readonly reference?: string | undefined;
}

const ways: Record<CreditKind, { readonly from: CreditAccount; readonly to: CreditAccount }> = {
  grant: { from: 'granted', to: 'available' },
  hold: { from: 'available', to: 'held' },
  charge: { from: 'held', to: 'earned' },
  release: { from: 'held', to: 'available' },
};

export function wayOf(kind: CreditKind): { readonly from: CreditAccount; readonly to: CreditAccount } {
  return ways[kind];
}

/** Moves credits within the caller's transaction, which holds the row of the tenant by then or gets it here. */
export async function move(tx: Queries, movement: Movement, now: number): Promise<void> {
  const { tenant, kind, amount } = movement;
  if (amount === 0) return;
  const { from, to } = ways[kind];
  const by = (account: CreditAccount) => (to === account ? amount : 0) - (from === account ? amount : 0);
  const change = { tenant, available: by('available'), held: by('held'), used: by('earned') };
  const [moved] = await changeBalance(tx, change);
  if (!moved)
    throw new CaissonError('insufficient_credits', `tenant ${tenant} has not ${Math.abs(amount)} micro-units`);
  const shared = {
    transfer: newId('entry', now),
    tenant,
    kind,
    sandbox: movement.sandbox ?? null,
    note: movement.note ?? null,
    reference: movement.reference ?? null,
    created_at: now,
  };
  await tx
    .insertInto('ledger')
    .values([
      { ...shared, account: from, amount: -amount },
      { ...shared, account: to, amount },
    ])
    .execute();
}

interface Change {
  readonly tenant: string;
  readonly available: number;
  readonly held: number;
  readonly used: number;
}

/** Changes nothing where a balance would fall below nothing. */
const changeBalance = statement((queries, by: Change) =>
  queries
    .updateTable('tenants')
    .set((eb) => ({
      credits: eb(eb.fn.coalesce('credits', eb.lit(0)), '+', by.available),
      credits_held: eb('credits_held', '+', by.held),
      credits_used: eb('credits_used', '+', by.used),
    }))
    .where('name', '=', by.tenant)
    .where((eb) => eb(eb(eb.fn.coalesce('credits', eb.lit(0)), '+', by.available), '>=', 0))
    .where((eb) => eb(eb('credits_held', '+', by.held), '>=', 0))
    .returning('name'),
);

export function isPostgres(queries: Queries): boolean {
  return queries.getExecutor().adapter instanceof PostgresAdapter;
}
