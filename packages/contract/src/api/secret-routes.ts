import { z } from 'zod';
import { nameSchema } from '../names.ts';
import { route } from './route.ts';
import { secretNameSchema, secretSchema, setSecretSchema } from './secret-shape.ts';

const params = z.strictObject({ name: secretNameSchema });
const query = z.strictObject({ project: nameSchema.optional() });

/** Secrets belong to a project. A value goes in and never comes out: no route answers one. */
export const secretRoutes = {
  'secret.list': route({
    method: 'GET',
    path: '/v1/secrets',
    summary: 'The secrets of your project, without their values',
    tag: 'secrets',
    scope: 'read',
    query,
    responses: { 200: z.object({ items: z.array(secretSchema) }) },
  }),
  'secret.set': route({
    method: 'PUT',
    path: '/v1/secrets/{name}',
    summary: 'Store a secret that is put into requests on their way out of a sandbox, or replace it',
    tag: 'secrets',
    scope: 'manage',
    repeatable: true,
    params,
    query,
    body: setSecretSchema,
    responses: { 200: secretSchema },
  }),
  'secret.delete': route({
    method: 'DELETE',
    path: '/v1/secrets/{name}',
    summary: 'Delete a secret; from then on requests go out without it',
    tag: 'secrets',
    scope: 'manage',
    params,
    query,
    responses: { 200: secretSchema },
  }),
} as const;
