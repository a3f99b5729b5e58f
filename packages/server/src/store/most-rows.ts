import { CaissonError } from '@caisson/contract';
import type { Queries } from './database.ts';

/**
 * How many rows a tenant may have of what its own admins make. Lists of them are one answer, and each costs others
 * something. Two at once may pass the last place together: a few more do no harm.
 */
const most = { projects: 1_000, principals: 5_000, api_keys: 5_000 } as const;
const words = { projects: 'projects', principals: 'principals', api_keys: 'keys that count' } as const;

/** Throws when the tenant has as many as it may have; for one that is new. */
export async function refuseAboveMost(queries: Queries, table: keyof typeof most, tenant: string): Promise<void> {
  let query = queries
    .selectFrom(table)
    .select(({ fn }) => fn.countAll().as('count'))
    .where('tenant', '=', tenant);
  if (table === 'api_keys') query = query.where('revoked_at' as never, 'is', null);
  const { count } = await query.executeTakeFirstOrThrow();
  if (Number(count) >= most[table])
    throw new CaissonError('quota_exceeded', `a tenant has at most ${most[table]} ${words[table]}`);
}
