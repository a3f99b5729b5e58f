import type { routeRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const routeHandlers: Handlers<keyof typeof routeRoutes> = {
  'route.explain': async ({ sandboxes }, { caller, body }) => ok(await sandboxes.explain(caller, body)),

  'sandbox.route': async ({ sandboxes }, { caller, params }) => ok(await sandboxes.route(caller, params.id)),
};
