import type { poolRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const poolHandlers: Handlers<keyof typeof poolRoutes> = {
  'pool.list': async ({ pools }) => ok({ items: pools.show() }),

  'pool.set': async ({ pools }, { params, body }) => ok(await pools.set(params.profile, body)),
};
