import type { healthRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const healthHandlers: Handlers<keyof typeof healthRoutes> = {
  'system.health': async ({ health }) => ok(await health.look()),

  'usage.list': async ({ usage }, { caller, query, shutdown }) => ok(await usage.list(caller, query.limit, shutdown)),
};
