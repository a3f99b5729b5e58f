import type { leaseRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok } from './sandbox-handlers.ts';

export const leaseHandlers: Handlers<keyof typeof leaseRoutes> = {
  'sandbox.extend': async ({ leases }, { caller, params, body, idempotency }) =>
    ok(await leases.extend(caller, params.id, body.seconds, idempotency)),

  'lease.expire': async ({ leases }, { caller, body }) => ok(await leases.expire(caller, body)),
};
