import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { nameSchema } from '../names.ts';
import { pageQuery, pageSchema } from './paging.ts';
import { route } from './route.ts';
import {
  addWebhookSchema,
  deadLetterSchema,
  webhookSchema,
  webhookTestSchema,
  webhookWithSecretSchema,
} from './webhook-shape.ts';

const params = z.strictObject({ id: idSchema('webhook') });
const common = { tag: 'webhooks', scope: 'manage', owned: 'webhook', params } as const;

/** Webhooks belong to a project. An address may have a token in it: whoever sees one may also change it. */
export const webhookRoutes = {
  'webhook.add': route({
    method: 'POST',
    path: '/v1/webhooks',
    summary: 'Have the events of a project delivered to an address; the answer is the only time its secret is shown',
    tag: 'webhooks',
    scope: 'manage',
    body: addWebhookSchema,
    responses: { 201: webhookWithSecretSchema },
  }),
  'webhook.list': route({
    method: 'GET',
    path: '/v1/webhooks',
    summary: 'The webhooks of a project, and how far each has come',
    tag: 'webhooks',
    scope: 'manage',
    query: z.strictObject({ project: nameSchema.optional() }),
    responses: { 200: z.object({ items: z.array(webhookSchema) }) },
  }),
  'webhook.get': route({
    ...common,
    method: 'GET',
    path: '/v1/webhooks/{id}',
    summary: 'One webhook, and how far it has come',
    responses: { 200: webhookSchema },
  }),
  'webhook.remove': route({
    ...common,
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    summary: 'Remove a webhook; what was not delivered is not delivered any more',
    responses: { 200: webhookSchema },
  }),
  'webhook.test': route({
    ...common,
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    summary: 'Deliver a test event now, once, and tell how that went',
    responses: { 200: webhookTestSchema },
  }),
  'webhook.rotate': route({
    ...common,
    method: 'POST',
    path: '/v1/webhooks/{id}/rotate',
    summary: 'Make a new secret; for a day the old one signs too',
    responses: { 200: webhookWithSecretSchema },
  }),
  'webhook.replay': route({
    ...common,
    method: 'POST',
    path: '/v1/webhooks/{id}/replay',
    summary: 'Deliver everything after a position of the log again',
    repeatable: true,
    body: z.strictObject({ after: z.int().min(0).describe('0 is the beginning of the log') }),
    responses: { 200: webhookSchema },
  }),
  'webhook.dead-letters': route({
    ...common,
    method: 'GET',
    path: '/v1/webhooks/{id}/dead-letters',
    summary: 'Events that were given up, newest first, each with the reason',
    query: z.strictObject(pageQuery),
    responses: { 200: pageSchema(deadLetterSchema) },
  }),
} as const;
