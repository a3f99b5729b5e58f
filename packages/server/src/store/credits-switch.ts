import type { Queries } from './database.ts';

/**
 * Whether a tenant pays at the moment. Its balance stays as it is while it does not, and so do the meters of its sandboxes,
 * which hold nothing then.
 *
 * Law: whoever changes it holds the row of the tenant, and whoever begins a meter does too. So a sandbox that is made at
 * that moment is either made after it, or found by whoever turns the meters next.
 */
export async function isSwitchedOff(queries: Queries, tenant: string): Promise<boolean> {
  const row = await queries.selectFrom('meta').select('key').where('key', '=', keyOf(tenant)).executeTakeFirst();
  return row !== undefined;
}

export async function switchCredits(tx: Queries, tenant: string, on: boolean): Promise<void> {
  const key = keyOf(tenant);
  if (on) await tx.deleteFrom('meta').where('key', '=', key).execute();
  else
    await tx
      .insertInto('meta')
      .values({ key, value: '1' })
      .onConflict((conflict) => conflict.column('key').doNothing())
      .execute();
}

/** Before the name of each tenant whose credits are off, as a key of `meta`. */
export const offPrefix = 'credits_off.';

function keyOf(tenant: string): string {
  return `${offPrefix}${tenant}`;
}
