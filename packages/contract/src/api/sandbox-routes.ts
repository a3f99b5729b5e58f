import { z } from 'zod';
import { eventSchema } from '../events/event.ts';
import { idSchema } from '../ids.ts';
import { labelsSchema, nameSchema } from '../names.ts';
import {
  inputNameSchema,
  leasePolicySchema,
  profileRefSchema,
  profileSchema,
  snapshotPolicySchema,
} from '../profile/profile.ts';
import { hostNameSchema } from '../routing/host-name.ts';
import { eventFilterQuery } from './event-filter.ts';
import { pageQuery, pageSchema } from './paging.ts';
import { route } from './route.ts';
import { attemptSchema, attemptSummarySchema, sandboxSchema, sandboxStateSchema } from './sandbox-shape.ts';

const tag = 'sandboxes';
const params = z.strictObject({ id: idSchema('sandbox') });

/** Longer waits belong to the event stream: proxies between cut idle requests at about ten minutes. */
export const waitSecondsSchema = z
  .number()
  .min(0)
  .max(600)
  .default(60)
  .describe('how long to wait for the end of the action');

/** A year; a profile may allow less. */
export const ttlSecondsSchema = z.int().min(1).max(31_536_000);

const inputsSchema = z
  .record(inputNameSchema, z.union([z.string().max(4096), z.number(), z.boolean()]))
  .refine((inputs) => Object.keys(inputs).length <= 50, 'must have at most 50 inputs');

export const createSandboxSchema = z.strictObject({
  spec: z.record(z.string(), z.unknown()).optional().describe('a workspace spec; see docs/spec.md'),
  profile: profileRefSchema.optional(),
  inputs: inputsSchema.optional(),
  name: nameSchema.optional().describe('unique within the owner'),
  host: hostNameSchema.optional().describe('the host that must hold it'),
  project: nameSchema.optional().describe('a project of the key; its own when absent'),
  scope: nameSchema.optional(),
  labels: labelsSchema.optional(),
  ttlSeconds: ttlSecondsSchema.optional(),
  idleSeconds: leasePolicySchema.shape.idleSeconds,
  atExpiry: leasePolicySchema.shape.atExpiry,
  snapshots: snapshotPolicySchema.optional(),
  autoPauseSeconds: profileSchema.shape.autoPauseSeconds,
  autoResume: profileSchema.shape.autoResume,
  waitSeconds: waitSecondsSchema,
});

export const waitSchema = z.strictObject({ waitSeconds: waitSecondsSchema }).prefault({});

/** Agents wait for a pause; a tool that takes longer than some minutes goes on after it. */
export const pauseSchema = z
  .strictObject({
    waitSeconds: waitSecondsSchema,
    drainSeconds: z
      .number()
      .min(0)
      .max(300)
      .default(10)
      .describe('how long running tools may take to end; then they stand still too'),
  })
  .prefault({});

export const settledSandbox = { 200: sandboxSchema, 202: sandboxSchema } as const;

/** An action that somebody may ask for: the answer is the record, when the action is done or when it is not waited for. */
function actionRoute<const P extends string, B extends z.ZodType = typeof waitSchema>(
  path: P,
  summary: string,
  body: B = waitSchema as unknown as B,
) {
  return route({
    method: 'POST',
    path,
    summary,
    tag,
    scope: 'use',
    owned: 'sandbox',
    idempotencyKey: true,
    params,
    body,
    responses: settledSandbox,
  });
}

export const sandboxRoutes = {
  'sandbox.create': route({
    method: 'POST',
    path: '/v1/sandboxes',
    summary: 'Create a sandbox; 201 when it is ready, 202 when it is still on its way',
    tag,
    scope: 'use',
    idempotencyKey: true,
    body: createSandboxSchema,
    responses: { 201: sandboxSchema, 202: sandboxSchema },
  }),
  'sandbox.ensure': route({
    method: 'POST',
    path: '/v1/sandboxes/ensure',
    summary: 'The healthy sandbox of this owner, profile and name: the present one, or a new one',
    tag,
    scope: 'use',
    idempotencyKey: true,
    body: createSandboxSchema,
    responses: { 200: sandboxSchema, 201: sandboxSchema, 202: sandboxSchema },
  }),
  'sandbox.list': route({
    method: 'GET',
    path: '/v1/sandboxes',
    summary: 'Sandboxes of your project, newest first',
    tag,
    scope: 'read',
    query: z.strictObject({
      ...pageQuery,
      project: nameSchema.optional(),
      principal: nameSchema.optional(),
      state: z
        .union([sandboxStateSchema, z.array(sandboxStateSchema).max(20)])
        .transform((state) => (Array.isArray(state) ? state : [state]))
        .optional(),
      all: z.stringbool().default(false).describe('destroyed ones too'),
      profile: nameSchema.optional(),
      name: nameSchema.optional(),
      label: z
        .union([z.string().max(320), z.array(z.string().max(320)).max(8)])
        .transform((label) => (Array.isArray(label) ? label : [label]))
        .optional()
        .describe('`key=value`, repeated: all must match'),
    }),
    responses: { 200: pageSchema(sandboxSchema) },
  }),
  'sandbox.get': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}',
    summary: 'One sandbox',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    responses: { 200: sandboxSchema },
  }),
  'sandbox.recreate': actionRoute(
    '/v1/sandboxes/{id}/recreate',
    'Replace the instance by a new one of the same spec; the id stays',
  ),
  'sandbox.stop': actionRoute(
    '/v1/sandboxes/{id}/stop',
    'End its processes; keep its filesystem when it is persistent',
  ),
  'sandbox.start': actionRoute('/v1/sandboxes/{id}/start', 'Launch a stopped sandbox again'),
  'sandbox.pause': actionRoute(
    '/v1/sandboxes/{id}/pause',
    'Let every process stand still; nothing is lost',
    pauseSchema,
  ),
  'sandbox.resume': actionRoute('/v1/sandboxes/{id}/resume', 'Let a paused sandbox go on'),
  'sandbox.destroy': route({
    method: 'DELETE',
    path: '/v1/sandboxes/{id}',
    summary: 'Remove everything it has; destroying a destroyed one answers its record',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    query: z.strictObject({ waitSeconds: z.coerce.number().min(0).max(600).default(60) }),
    responses: settledSandbox,
  }),
  'sandbox.events': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/events',
    summary: 'Its events, oldest first; live with `Accept: text/event-stream`',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    query: z.strictObject({ ...pageQuery, type: eventFilterQuery.type }),
    responses: { 200: pageSchema(eventSchema) },
    stream: eventSchema,
  }),
  'sandbox.attempts': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/attempts',
    summary: 'Every try at build and launch, newest first',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    query: z.strictObject(pageQuery),
    responses: { 200: pageSchema(attemptSummarySchema) },
  }),
  'sandbox.attempt': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/attempts/{attempt}',
    summary: 'One try with its inputs as they were: what exactly ran',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params: z.strictObject({ id: idSchema('sandbox'), attempt: idSchema('attempt') }),
    responses: { 200: attemptSchema },
  }),
} as const;

export type CreateSandbox = z.input<typeof createSandboxSchema>;
