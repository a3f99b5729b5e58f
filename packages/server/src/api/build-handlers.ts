import { type buildRoutes, CaissonError, isId } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { ok, page, position } from './sandbox-handlers.ts';

export const buildHandlers: Handlers<keyof typeof buildRoutes> = {
  'build.list': async ({ builds }, { caller, query }) => {
    const { limit, after, ...filter } = query;
    if (after !== undefined && !isId('build', after)) throw new CaissonError('cursor_invalid');
    const items = await builds.list(caller, { ...filter, after, limit: limit + 1 });
    return page(items, limit, (item) => item.id);
  },

  'build.get': async ({ builds }, { caller, params }) => ok(await builds.get(caller, params.id)),

  'build.logs': async ({ builds }, { caller, params, query }) => {
    const items = await builds.logs(caller, params.id, position(query.after), query.limit + 1);
    return page(items, query.limit, (item) => String(item.position));
  },

  'build.cancel': async ({ builds }, { caller, params }) => ok(await builds.cancel(caller, params.id)),

  'attempt.get': async ({ sandboxes }, { caller, params }) => ok(await sandboxes.anyAttempt(caller, params.id)),
};
