import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { nameSchema } from '../names.ts';
import { buildDetailSchema, buildLogItemSchema, buildSchema, buildStates } from './build-shape.ts';
import { pageQuery, pageSchema } from './paging.ts';
import { route } from './route.ts';
import { attemptSchema } from './sandbox-shape.ts';

const tag = 'builds';
const params = z.strictObject({ id: idSchema('build') });

/** Builds of images, and what exactly ran. A build begins with a create that needs it. */
export const buildRoutes = {
  'build.list': route({
    method: 'GET',
    path: '/v1/builds',
    summary: 'Builds of your project, newest first',
    tag,
    scope: 'read',
    query: z.strictObject({ ...pageQuery, project: nameSchema.optional(), state: z.enum(buildStates).optional() }),
    responses: { 200: pageSchema(buildSchema) },
  }),
  'build.get': route({
    method: 'GET',
    path: '/v1/builds/{id}',
    summary: 'One build, with its plan, its steps and what is inside the image',
    tag,
    scope: 'read',
    owned: 'build',
    params,
    responses: { 200: buildDetailSchema },
  }),
  'build.logs': route({
    method: 'GET',
    path: '/v1/builds/{id}/logs',
    summary: 'Its log, oldest first; live with `Accept: text/event-stream`, until the build has ended',
    tag,
    scope: 'read',
    owned: 'build',
    params,
    query: z.strictObject(pageQuery),
    responses: { 200: pageSchema(buildLogItemSchema) },
    stream: buildLogItemSchema,
  }),
  'build.cancel': route({
    method: 'POST',
    path: '/v1/builds/{id}/cancel',
    summary: 'Stop it; sandboxes that wait for it fail. One that has ended is answered as it is',
    tag,
    scope: 'use',
    owned: 'build',
    repeatable: true,
    params,
    responses: { 200: buildSchema },
  }),
  'attempt.get': route({
    method: 'GET',
    path: '/v1/attempts/{id}',
    summary: 'One try at build and launch by its id alone: what exactly ran, also of a sandbox that is gone',
    tag: 'sandboxes',
    scope: 'read',
    owned: 'attempt',
    params: z.strictObject({ id: idSchema('attempt') }),
    responses: { 200: attemptSchema },
  }),
} as const;
