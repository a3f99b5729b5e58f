import type { poolRoutes } from '@caisson/contract';
import { requireOperator } from '../tenancy/caller.ts';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const poolHandlers: Handlers<keyof typeof poolRoutes> = {
  'pool.list': async ({ pools }) => ok({ items: pools.show() }),

  'pool.set': async ({ pools }, { caller, params, body }) => {
    requireOperator(caller, 'warm pools are of the whole installation');
    return ok(await pools.set(params.profile, body));
  },
};
