import type { webhookRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok, page, position } from './sandbox-handlers.ts';

export const webhookHandlers: Handlers<keyof typeof webhookRoutes> = {
  'webhook.add': async ({ webhooks }, { caller, body }) => ({ status: 201, body: await webhooks.add(caller, body) }),

  'webhook.list': async ({ webhooks }, { caller, query }) => ok({ items: await webhooks.list(caller, query.project) }),

  'webhook.get': async ({ webhooks }, { caller, params }) => ok(await webhooks.get(caller, params.id)),

  'webhook.remove': async ({ webhooks }, { caller, params }) => ok(await webhooks.remove(caller, params.id)),

  'webhook.test': async ({ webhooks }, { caller, params, shutdown }) =>
    ok(await webhooks.test(caller, params.id, shutdown)),

  'webhook.rotate': async ({ webhooks }, { caller, params }) => ok(await webhooks.rotate(caller, params.id)),

  'webhook.replay': async ({ webhooks }, { caller, params, body }) =>
    ok(await webhooks.replay(caller, params.id, body.after)),

  'webhook.dead-letters': async ({ webhooks }, { caller, params, query }) => {
    const before = query.after === undefined ? undefined : position(query.after);
    const items = await webhooks.deadLetters(caller, params.id, query.limit + 1, before);
    return page(items, query.limit, (item) => String(item.position));
  },
};
