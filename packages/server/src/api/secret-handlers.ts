import type { secretRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const secretHandlers: Handlers<keyof typeof secretRoutes> = {
  'secret.list': async ({ secrets }, { caller, query }) => ok({ items: await secrets.list(caller, query.project) }),

  'secret.set': async ({ secrets }, { caller, params, query, body }) =>
    ok(await secrets.set(caller, params.name, body, query.project)),

  'secret.delete': async ({ secrets }, { caller, params, query }) =>
    ok(await secrets.delete(caller, params.name, query.project)),
};
