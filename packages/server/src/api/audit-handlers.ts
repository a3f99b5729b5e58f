import type { auditRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { linesAnswer } from './lines-answer.ts';
import { page, position } from './sandbox-handlers.ts';

export const auditHandlers: Handlers<keyof typeof auditRoutes> = {
  'audit.list': async ({ audit }, { caller, query }) => {
    const { after, limit, ...rest } = query;
    const filter = { ...withTimes(rest), after: position(after), limit: limit + 1 };
    return page(await audit.list(caller, filter), limit, (item) => String(item.position));
  },

  'audit.export': async ({ audit }, call) => {
    const filter = withTimes(call.query);
    return linesAnswer(call, 'audit.jsonl', (after, limit) => audit.list(call.caller, { ...filter, after, limit }));
  },
};

/** Times as the store has them. */
export function withTimes<Q extends { readonly since?: string | undefined; readonly until?: string | undefined }>({
  since,
  until,
  ...rest
}: Q) {
  return {
    ...rest,
    since: since === undefined ? undefined : Date.parse(since),
    until: until === undefined ? undefined : Date.parse(until),
  };
}
