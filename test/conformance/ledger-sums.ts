import type { Kysely } from 'kysely';
import type { Schema } from '../../packages/server/src/store/schema.ts';

/** Computes every balance from the ledger alone, and names each that is not what the tenants' rows or the meters say. */
export async function balancesOfLedger(db: Kysely<Schema>): Promise<{ wrong: string[]; tenants: number }> {
  const wrong: string[] = [];
  const rows = await db.selectFrom('ledger').selectAll().execute();
  const sums = new Map<string, number>();
  const add = (key: string, amount: number) => sums.set(key, (sums.get(key) ?? 0) + amount);
  for (const { transfer, account, tenant, sandbox, amount } of rows) {
    add(`transfer ${transfer}`, amount);
    add(`${account} ${tenant}`, amount);
    if (account === 'held') add(`held for ${sandbox}`, amount);
  }
  for (const [key, sum] of sums) if (key.startsWith('transfer') && sum !== 0) wrong.push(`${key} adds up to ${sum}`);
  const expectSum = (key: string, is: number) => {
    if (is !== (sums.get(key) ?? 0) || is < 0)
      wrong.push(`${key}: ${is} in its row, ${sums.get(key) ?? 0} in the ledger`);
  };
  const tenants = await db.selectFrom('tenants').selectAll().where('credits', 'is not', null).execute();
  for (const { name, credits, credits_held, credits_used } of tenants) {
    expectSum(`available ${name}`, credits ?? 0);
    expectSum(`held ${name}`, credits_held);
    expectSum(`earned ${name}`, credits_used);
  }
  for (const meter of await db.selectFrom('meters').selectAll().execute()) {
    expectSum(`held for ${meter.sandbox}`, meter.held);
    if (meter.ended_at !== null && meter.held !== 0) wrong.push(`${meter.sandbox} has ended and holds ${meter.held}`);
  }
  return { wrong, tenants: tenants.length };
}
