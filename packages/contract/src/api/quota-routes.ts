import { z } from 'zod';
import { nameSchema } from '../names.ts';
import { tenantSchema } from '../owner.ts';
import { route } from './route.ts';

/**
 * What a tenant or a project may have at the same time.
 *
 * Laws
 * - A sandbox counts from its create to its end, whatever its state: a start is never refused for a quota.
 * - One without a limit of processors counts with all of its host.
 * - Builds are those that wait or run.
 */
export const quotaResources = ['sandboxes', 'cpus', 'memoryMiB', 'diskMiB', 'snapshots', 'builds'] as const;
export type QuotaResource = (typeof quotaResources)[number];

/** Beyond any machine, and far below where numbers lose their last digit. */
const amount = z.number().min(0).max(1_000_000_000);
const limit = z.int().min(0).max(1_000_000_000).nullable().optional();

export const quotaLimitsSchema = z.strictObject({
  sandboxes: limit,
  cpus: amount.nullable().optional().describe('in steps of a thousandth'),
  memoryMiB: limit,
  diskMiB: limit,
  snapshots: limit,
  builds: limit,
});
export type QuotaLimits = z.infer<typeof quotaLimitsSchema>;

export const quotaSchema = z.object({
  tenant: nameSchema,
  project: nameSchema.nullable().describe('null for the whole tenant'),
  items: z.array(
    z.object({
      resource: z.enum(quotaResources),
      used: amount,
      limit: amount.nullable().describe('null where there is none'),
    }),
  ),
});
export type Quota = z.infer<typeof quotaSchema>;

const place = { tenant: tenantSchema.optional(), project: nameSchema.optional() };

export const quotaRoutes = {
  'quota.get': route({
    method: 'GET',
    path: '/v1/quota',
    summary: 'What a tenant and its projects use and may use; those who do not manage see their own project',
    tag: 'tenancy',
    scope: 'read',
    query: z.strictObject(place),
    responses: { 200: z.object({ items: z.array(quotaSchema) }) },
  }),
  'quota.set': route({
    method: 'PUT',
    path: '/v1/quota',
    summary: 'Set limits of a tenant (the operator) or of a project (its admin); null takes one away',
    tag: 'tenancy',
    scope: 'admin',
    repeatable: true,
    body: z.strictObject({ ...place, limits: quotaLimitsSchema }),
    responses: { 200: quotaSchema },
  }),
} as const;
