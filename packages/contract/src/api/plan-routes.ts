import { z } from 'zod';
import { route } from './route.ts';
import { createSandboxSchema } from './sandbox-routes.ts';

const { spec, profile, inputs } = createSandboxSchema.shape;

/** What an image would be built of, and why. */
export const proposedPlanSchema = z.object({
  blueprintDigest: z.string(),
  planDigest: z.string().nullable().describe('the key of the build; null while something is unresolved'),
  plan: z.record(z.string(), z.unknown()).describe('null stands where something is unresolved'),
  unresolved: z.array(z.string()).describe('what is known only when it is built: a base that is not made, a commit'),
  containerfile: z.string().nullable(),
  explanation: z.array(z.object({ topic: z.string(), what: z.string(), why: z.string() })),
  notices: z.array(z.string()),
});

export type ProposedPlan = z.infer<typeof proposedPlanSchema>;

export const planRoutes = {
  /** It asks registries and mirrors in the server's name, so reading alone is not enough for it. */
  'plan.make': route({
    method: 'POST',
    path: '/v1/plan',
    summary: 'What would be built for a spec, and why; nothing is built',
    tag: 'specs',
    scope: 'use',
    repeatable: true,
    body: z.strictObject({ spec, profile, inputs }),
    responses: { 200: proposedPlanSchema },
  }),
} as const;
