import { CaissonError, isId, type snapshotRoutes } from '@caisson/contract';
import type { Handlers } from './handler.ts';
import { changed, made, ok, page } from './sandbox-handlers.ts';

export const snapshotHandlers: Handlers<keyof typeof snapshotRoutes> = {
  'snapshot.create': async ({ snapshots }, { caller, params, body, idempotency }) => ({
    status: 201,
    body: await snapshots.create(caller, params.id, body, idempotency),
  }),

  'snapshot.turn': async ({ snapshots }, { caller, params, body, idempotency }) => ({
    status: 201,
    body: await snapshots.turn(caller, params.id, body.labels, idempotency),
  }),

  'snapshot.list': async ({ snapshots }, { caller, query }) => {
    const { limit, after, usage, ...filter } = query;
    if (after !== undefined && !isId('snapshot', after)) throw new CaissonError('cursor_invalid');
    const items = await snapshots.list(caller, { ...filter, after, limit: limit + 1 }, usage);
    return page(items, limit, (item) => item.id);
  },

  'snapshot.get': async ({ snapshots }, { caller, params }) => ok(await snapshots.get(caller, params.id)),

  'snapshot.label': async ({ snapshots }, { caller, params, body }) =>
    ok(await snapshots.relabel(caller, params.id, body)),

  'snapshot.delete': async ({ snapshots }, { caller, params }) => ok(await snapshots.remove(caller, params.id)),

  'snapshot.restore': async ({ branches }, { caller, params, body, idempotency }) =>
    made(await branches.restore(caller, params.id, body, idempotency)),

  'sandbox.rollback': async ({ branches }, { caller, params, body, idempotency }) =>
    changed(await branches.rollback(caller, params.id, body, idempotency)),

  'sandbox.fork': async ({ branches }, { caller, params, body }) => {
    const { count, ...place } = body;
    const outcomes = await branches.fork(caller, params.id, count, place);
    const settled = outcomes.every((one) => one.settled);
    return { status: settled ? 201 : 202, body: { items: outcomes.map(({ sandbox }) => sandbox) } };
  },
};
