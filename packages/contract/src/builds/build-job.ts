import { resolvedImagePlanSchema, workspaceBlueprintSchema } from '@caisson/workspace-composition';
import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { networkRulesSchema } from '../network/policy.ts';
import { ownerSchema } from '../owner.ts';

/** The kind of a job that builds an image, and the type of the message that asks for it. */
export const buildJobKind = 'workspace-build-job.requested';

/**
 * The message that asks for a build: everything that a worker needs, so that any worker can take it.
 *
 * Laws
 * - `version` rises when a field changes its meaning; a worker refuses versions that it does not know.
 * - It holds no secret. What needs one names it in the blueprint, and the worker asks for it in the owner's name.
 * - Delivered at least once: a build done twice leaves one image.
 */
export const buildJobSchema = z.strictObject({
  version: z.literal(1),
  type: z.literal(buildJobKind),
  build: idSchema('build').describe('the record that tells how it goes'),
  owner: ownerSchema.describe('in whose name sources are fetched'),
  planDigest: z.string(),
  plan: resolvedImagePlanSchema,
  blueprint: workspaceBlueprintSchema.describe('what the plan was made of; names the credentials of its sources'),
  rules: networkRulesSchema.describe('what the steps may reach'),
  requestedAt: z.iso.datetime(),
  traceparent: z
    .string()
    .regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
    .optional()
    .describe('where in a trace it was asked for; the build goes on there'),
});

export type BuildJob = z.infer<typeof buildJobSchema>;
