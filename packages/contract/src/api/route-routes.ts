import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { routeDecisionSchema, sandboxRouteSchema } from '../routing/route-decision.ts';
import { route } from './route.ts';
import { createSandboxSchema } from './sandbox-routes.ts';

export const routeRoutes = {
  'route.explain': route({
    method: 'POST',
    path: '/v1/routes/explain',
    summary: 'Where a create with this body would go and why; nothing is launched',
    tag: 'routes',
    scope: 'read',
    body: createSandboxSchema,
    responses: { 200: routeDecisionSchema },
  }),
  'sandbox.route': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/route',
    summary: 'The route that it took: every candidate with its rank or its reasons, and the tries that failed',
    tag: 'routes',
    scope: 'read',
    owned: 'sandbox',
    params: z.strictObject({ id: idSchema('sandbox') }),
    responses: { 200: sandboxRouteSchema },
  }),
} as const;
