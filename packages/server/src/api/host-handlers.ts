import type { hostRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const hostHandlers: Handlers<keyof typeof hostRoutes> = {
  'host.inspect': async ({ hosts }) => ok(await hosts.inspect()),

  'host.stale': async ({ stale }, { caller, query }) => ok(await stale.find(caller, query.agedSeconds)),

  'host.reap': async ({ stale }, { caller, body }) => ok(await stale.reap(caller, body)),

  'capabilities.get': async ({ hosts }) => ok(await hosts.capabilities()),
};
