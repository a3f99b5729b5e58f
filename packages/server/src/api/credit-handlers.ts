import { CaissonError, type creditRoutes } from '@caisson/contract';
import { withTimes } from './audit-handlers.ts';
import type { Handlers } from './handler.ts';
import { linesAnswer } from './lines-answer.ts';
import { ok, page, position } from './sandbox-handlers.ts';

export const creditHandlers: Handlers<keyof typeof creditRoutes> = {
  'credits.show': async ({ credits }, { caller, query }) => ok(await credits.show(caller, query.tenant)),

  'credits.add': async ({ credits }, { caller, body }) => ok(await credits.add(caller, body)),

  'credits.switch': async ({ credits }, { caller, body }) => ok(await credits.switch(caller, body)),

  'credits.history': async ({ credits }, { caller, query }) => {
    const { after, limit, tenant, sandbox } = query;
    if (after !== undefined && position(after) === 0) throw new CaissonError('cursor_invalid');
    const before = after === undefined ? undefined : position(after);
    const items = await credits.history(caller, tenant, { sandbox, before, limit: limit + 1 });
    return page(items, limit, (item) => String(item.position));
  },

  'credits.usage': async ({ credits }, { caller, query }) => {
    const { after, limit, ...rest } = query;
    const filter = { ...withTimes(rest), after: position(after), limit: limit + 1 };
    return page(await credits.usage(caller, filter), limit, (item) => String(item.position));
  },

  'credits.export': async ({ credits }, call) => {
    const filter = withTimes(call.query);
    return linesAnswer(call, 'usage.jsonl', (after, limit) => credits.usage(call.caller, { ...filter, after, limit }));
  },
};
