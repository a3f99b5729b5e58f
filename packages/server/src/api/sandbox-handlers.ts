import { CaissonError, isId, labelsSchema, parseOrThrow, type sandboxRoutes } from '@caisson/contract';
import type { Outcome } from '../sandbox/outcome.ts';
import { projectOf } from '../tenancy/caller.ts';
import type { Answer, Handlers } from './handler.ts';

export const sandboxHandlers: Handlers<keyof typeof sandboxRoutes> = {
  'sandbox.create': async ({ sandboxes }, { caller, body, idempotency }) =>
    made(await sandboxes.create(caller, body, idempotency)),

  'sandbox.ensure': async ({ sandboxes }, { caller, body, idempotency }) =>
    made(await sandboxes.ensure(caller, body, idempotency)),

  'sandbox.list': async ({ sandboxes }, { caller, query }) => {
    const { limit, after, state, all, label, ...filter } = query;
    if (after !== undefined && !isId('sandbox', after)) throw new CaissonError('cursor_invalid');
    const items = await sandboxes.list(caller, {
      ...filter,
      after,
      limit: limit + 1,
      states: state,
      destroyedToo: all || (state?.includes('destroyed') ?? false),
      labels: label?.map(parseLabel),
    });
    return page(items, limit, (item) => item.id);
  },

  'sandbox.get': async ({ sandboxes }, { caller, params }) => ok(await sandboxes.get(caller, params.id)),

  'sandbox.recreate': async ({ sandboxes }, { caller, params, body, idempotency }) =>
    changed(await sandboxes.recreate(caller, params.id, body.waitSeconds, idempotency)),

  'sandbox.stop': async ({ sandboxes }, { caller, params, body, idempotency }) =>
    changed(await sandboxes.stop(caller, params.id, body.waitSeconds, idempotency)),

  'sandbox.start': async ({ sandboxes }, { caller, params, body, idempotency }) =>
    changed(await sandboxes.start(caller, params.id, body.waitSeconds, idempotency)),

  'sandbox.pause': async ({ sandboxes }, { caller, params, body, idempotency }) =>
    changed(await sandboxes.pause(caller, params.id, body, idempotency)),

  'sandbox.resume': async ({ sandboxes }, { caller, params, body, idempotency }) =>
    changed(await sandboxes.resume(caller, params.id, body.waitSeconds, idempotency)),

  'sandbox.destroy': async ({ sandboxes }, { caller, params, query }) =>
    changed(await sandboxes.destroy(caller, params.id, query.waitSeconds)),

  'sandbox.events': async ({ sandboxes, store }, { caller, params, query }) => {
    const { id } = await sandboxes.get(caller, params.id);
    const { type: types } = query;
    const items = await store.events.list({ subject: id, types, after: position(query.after), limit: query.limit + 1 });
    return page(items, query.limit, (item) => String(item.position));
  },

  'sandbox.attempts': async ({ sandboxes }, { caller, params, query }) => {
    if (query.after !== undefined && !isId('attempt', query.after)) throw new CaissonError('cursor_invalid');
    const items = await sandboxes.attempts(caller, params.id, query.limit + 1, query.after);
    return page(items, query.limit, (item) => item.id);
  },

  'sandbox.attempt': async ({ sandboxes }, { caller, params }) =>
    ok(await sandboxes.attempt(caller, params.id, params.attempt)),
};

export const eventHandlers: Handlers<'event.list'> = {
  'event.list': async ({ store }, { caller, query }) => {
    const project = projectOf(caller, query.project);
    const filter = {
      ...{ tenant: caller.owner.tenant, project, ...eventFilter(query) },
      ...{ after: position(query.after), limit: query.limit + 1 },
    };
    return page(await store.events.list(filter), query.limit, (item) => String(item.position));
  },
};

/** Which events of a log are wanted. */
export function eventFilter({ type, label }: { type?: string[] | undefined; label?: string[] | undefined }) {
  return { types: type, labels: label?.map(parseLabel) };
}

export function ok(body: unknown): Answer {
  return { status: 200, body };
}

export function made({ sandbox, settled, created }: Outcome): Answer {
  if (!settled) return { status: 202, body: sandbox, final: false };
  return { status: created ? 201 : 200, body: sandbox };
}

export function changed({ sandbox, settled }: Outcome): Answer {
  return { status: settled ? 200 : 202, body: sandbox, final: settled };
}

/** One more than the page was read: it tells whether there is another page. */
export function page<T>(items: readonly T[], limit: number, cursor: (item: T) => string): Answer {
  const shown = items.slice(0, limit);
  const last = shown.at(-1);
  return ok({ items: shown, next: items.length > limit && last !== undefined ? cursor(last) : null });
}

/** A position in the log, as a cursor or as `Last-Event-ID`. */
export function position(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,15}$/.test(text)) throw new CaissonError('cursor_invalid');
  return Number(text);
}

function parseLabel(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new CaissonError('request_invalid', `the label ${JSON.stringify(text)} must be written key=value`);
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  parseOrThrow(labelsSchema, { [key]: value }, 'request_invalid', 'the label');
  return [key, value];
}
