import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { labelsSchema, nameSchema } from '../names.ts';
import { pageQuery, pageSchema } from './paging.ts';
import { route } from './route.ts';
import { settledSandbox, ttlSecondsSchema, waitSecondsSchema } from './sandbox-routes.ts';
import { sandboxSchema } from './sandbox-shape.ts';
import { snapshotKinds, snapshotNameSchema, snapshotRefSchema, snapshotSchema } from './snapshot-shape.ts';

const tag = 'snapshots';
const sandboxParams = z.strictObject({ id: idSchema('sandbox') });
const params = z.strictObject({ id: idSchema('snapshot') });

/** As many as a pool of a small machine can hold at once; more are asked for again. */
export const maxForks = 100;

/** What a new sandbox made of a snapshot may have of its own. */
const placeSchema = z.strictObject({
  labels: labelsSchema.optional(),
  scope: nameSchema.optional(),
  ttlSeconds: ttlSecondsSchema.optional(),
  waitSeconds: waitSecondsSchema,
});

/** Making, keeping and removing snapshots; going back to them, and on from them in new sandboxes. */
export const snapshotRoutes = {
  'snapshot.create': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/snapshots',
    summary: 'Keep its files as they are now; its processes stand still for an instant',
    tag,
    scope: 'use',
    owned: 'sandbox',
    idempotencyKey: true,
    params: sandboxParams,
    body: z.strictObject({ name: snapshotNameSchema.optional(), labels: labelsSchema.optional() }).prefault({}),
    responses: { 201: snapshotSchema },
  }),
  'snapshot.turn': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/turn-complete',
    summary: 'End a turn: the next number, and a snapshot of that name',
    tag,
    scope: 'use',
    owned: 'sandbox',
    idempotencyKey: true,
    params: sandboxParams,
    body: z.strictObject({ labels: labelsSchema.optional() }).prefault({}),
    responses: { 201: snapshotSchema },
  }),
  'snapshot.list': route({
    method: 'GET',
    path: '/v1/snapshots',
    summary: 'Snapshots of your project, newest first; also those whose sandbox is gone',
    tag,
    scope: 'read',
    query: z.strictObject({
      ...pageQuery,
      project: nameSchema.optional(),
      sandbox: idSchema('sandbox').optional(),
      kind: z.enum(snapshotKinds).optional(),
      name: nameSchema.optional(),
      usage: z.stringbool().default(false).describe('tell the space of each; takes longer'),
    }),
    responses: { 200: pageSchema(snapshotSchema) },
  }),
  'snapshot.get': route({
    method: 'GET',
    path: '/v1/snapshots/{id}',
    summary: 'One snapshot, with the space that it takes',
    tag,
    scope: 'read',
    owned: 'snapshot',
    params,
    responses: { 200: snapshotSchema },
  }),
  'snapshot.label': route({
    method: 'PATCH',
    path: '/v1/snapshots/{id}',
    summary: 'Give it other labels, or a name',
    tag,
    scope: 'use',
    owned: 'snapshot',
    repeatable: true,
    params,
    body: z.strictObject({ name: snapshotNameSchema.optional(), labels: labelsSchema.optional() }),
    responses: { 200: snapshotSchema },
  }),
  'snapshot.delete': route({
    method: 'DELETE',
    path: '/v1/snapshots/{id}',
    summary: 'Remove it; sandboxes and snapshots made from it stay',
    tag,
    scope: 'use',
    owned: 'snapshot',
    params,
    responses: { 200: snapshotSchema },
  }),
  'sandbox.rollback': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/rollback',
    summary: 'Put its files back to a snapshot; its processes end, later snapshots stay',
    tag,
    scope: 'use',
    owned: 'sandbox',
    idempotencyKey: true,
    params: sandboxParams,
    body: z.strictObject({
      snapshot: snapshotRefSchema.describe('its id, or its name within the sandbox'),
      force: z.boolean().default(false).describe('also while tools run'),
      waitSeconds: waitSecondsSchema,
    }),
    responses: settledSandbox,
  }),
  'snapshot.restore': route({
    method: 'POST',
    path: '/v1/snapshots/{id}/restore',
    summary: 'A new sandbox that begins with the files of the snapshot',
    tag,
    scope: 'use',
    owned: 'snapshot',
    idempotencyKey: true,
    params,
    body: placeSchema.extend({ name: nameSchema.optional().describe('unique within the owner') }).prefault({}),
    responses: { 201: sandboxSchema, 202: sandboxSchema },
  }),
  'sandbox.fork': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/fork',
    summary:
      'New sandboxes that begin with its files and its network rules as they are now; nothing else of it is theirs',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params: sandboxParams,
    body: placeSchema.extend({ count: z.int().min(1).max(maxForks).default(1) }).prefault({}),
    responses: { 201: z.object({ items: z.array(sandboxSchema) }), 202: z.object({ items: z.array(sandboxSchema) }) },
  }),
} as const;
