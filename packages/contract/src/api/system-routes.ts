import { z } from 'zod';
import { eventSchema } from '../events/event.ts';
import { idSchema } from '../ids.ts';
import { lineSchema, nameSchema } from '../names.ts';
import { ownerSchema, tenantSchema } from '../owner.ts';
import { eventFilterQuery } from './event-filter.ts';
import { pageQuery, pageSchema } from './paging.ts';
import { route, type Scope, scopes } from './route.ts';

const scopeSchema = z.enum(scopes as unknown as [Scope, ...Scope[]]);

/** A key as it is shown: never its secret, which exists only in the answer that made it. */
export const apiKeySchema = z.object({
  id: idSchema('key'),
  name: lineSchema(100),
  owner: ownerSchema,
  scope: scopeSchema,
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable(),
  revokedAt: z.iso.datetime().nullable(),
});

export type ApiKey = z.infer<typeof apiKeySchema>;

const checkSchema = z.object({
  name: z.string(),
  ok: z.boolean(),
  optional: z.boolean().optional().describe('nothing is amiss without it; with it there would be more to choose from'),
  detail: z.string(),
  fix: z.string().nullable().describe('what would change it, as a command where there is one'),
});

export const doctorSchema = z.object({
  ok: z.boolean(),
  version: z.string(),
  checks: z.array(checkSchema),
});

export type Doctor = z.infer<typeof doctorSchema>;

export const systemRoutes = {
  'event.list': route({
    method: 'GET',
    path: '/v1/events',
    summary: 'Events of your project, oldest first; live with `Accept: text/event-stream`',
    tag: 'events',
    scope: 'read',
    query: z.strictObject({ ...pageQuery, project: nameSchema.optional(), ...eventFilterQuery }),
    responses: { 200: pageSchema(eventSchema) },
    stream: eventSchema,
  }),
  'spec.normalize': route({
    method: 'POST',
    path: '/v1/spec/normalize',
    summary: 'The blueprint and its digest that a spec stands for, or every problem of it',
    tag: 'specs',
    scope: 'read',
    body: z.strictObject({ spec: z.unknown(), sourceRequired: z.boolean().default(true) }),
    responses: { 200: z.object({ blueprint: z.record(z.string(), z.unknown()), digest: z.string() }) },
  }),
  'key.create': route({
    method: 'POST',
    path: '/v1/keys',
    summary: 'Make an API key; the answer is the only time it is shown',
    tag: 'keys',
    scope: 'admin',
    body: z.strictObject({
      name: lineSchema(100).min(1),
      tenant: tenantSchema.optional(),
      project: nameSchema.optional(),
      principal: nameSchema.optional(),
      scope: scopeSchema.default('use'),
      expiresInSeconds: z.int().min(1).max(315_360_000).optional(),
    }),
    responses: { 201: apiKeySchema.extend({ secret: z.string() }) },
  }),
  'key.list': route({
    method: 'GET',
    path: '/v1/keys',
    summary: 'API keys of your tenant',
    tag: 'keys',
    scope: 'admin',
    query: z.strictObject(pageQuery),
    responses: { 200: pageSchema(apiKeySchema) },
  }),
  'key.revoke': route({
    method: 'DELETE',
    path: '/v1/keys/{id}',
    summary: 'Revoke an API key; it stops working at once',
    tag: 'keys',
    scope: 'admin',
    owned: 'key',
    params: z.strictObject({ id: idSchema('key') }),
    responses: { 200: apiKeySchema },
  }),
  'system.whoami': route({
    method: 'GET',
    path: '/v1/whoami',
    summary: 'Whose key this is and what it may do',
    tag: 'system',
    scope: 'read',
    responses: { 200: z.object({ owner: ownerSchema, scope: scopeSchema, local: z.boolean() }) },
  }),
  'system.version': route({
    method: 'GET',
    path: '/v1/version',
    summary: 'Version of the server',
    tag: 'system',
    scope: null,
    responses: { 200: z.object({ version: z.string(), api: z.literal('v1') }) },
  }),
  'system.doctor': route({
    method: 'GET',
    path: '/v1/doctor',
    summary: 'What this installation can do, what it cannot, and what would change that',
    tag: 'system',
    scope: 'read',
    responses: { 200: doctorSchema },
  }),
} as const;
