import { type networkRoutes, presets } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok, page, position } from './sandbox-handlers.ts';

export const networkHandlers: Handlers<keyof typeof networkRoutes> = {
  'network.get': async ({ networks }, { caller, params }) => ok(await networks.get(caller, params.id)),

  'network.set': async ({ networks }, { caller, params, body }) => ok(await networks.set(caller, params.id, body)),

  'egress.log': async ({ networks }, { caller, params, query }) => {
    const { limit, after, verdict } = query;
    const wanted = { verdict, after: position(after), limit: limit + 1 };
    return page(await networks.log(caller, params.id, wanted), limit, (item) => String(item.position));
  },

  'egress.usage': async ({ networks }, { caller, params }) => ok(await networks.usage(caller, params.id)),

  'network.presets': async () => ok({ items: [...presets].map(([name, preset]) => ({ name, ...preset })) }),
};
