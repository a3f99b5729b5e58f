import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { route } from './route.ts';
import { runToolSchema, toolAnswerSchema, toolDescriptionSchema } from './tool-shape.ts';

export const toolRoutes = {
  'tool.list': route({
    method: 'GET',
    path: '/v1/tools',
    summary: 'Every tool, with the schema of what it takes',
    tag: 'tools',
    scope: 'read',
    responses: { 200: z.object({ items: z.array(toolDescriptionSchema) }) },
  }),
  'tool.run': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/tools',
    summary: 'Run a tool; as it goes with `Accept: text/event-stream`. A repeated call id gets the first answer',
    tag: 'tools',
    scope: 'use',
    owned: 'sandbox',
    repeatable: true,
    params: z.strictObject({ id: idSchema('sandbox') }),
    body: runToolSchema,
    responses: { 200: toolAnswerSchema },
    accepts: 'events',
  }),
} as const;
