import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { ownerSchema } from '../owner.ts';
import { sandboxStatsSchema } from './file-shape.ts';
import { route } from './route.ts';

/** What is looked at. Each has a page in docs/runbooks that says what to do about it. */
export const healthNames = [
  'database',
  'event-loop',
  'disk',
  'storage',
  'memory',
  'drivers',
  'reconciler',
  'dead-jobs',
  'waiting-jobs',
] as const;
export type HealthName = (typeof healthNames)[number];

export const healthStates = ['ok', 'degraded', 'critical'] as const;
export type HealthState = (typeof healthStates)[number];

export const healthCheckSchema = z.object({
  name: z.enum(healthNames),
  state: z.enum(healthStates),
  value: z.number().nullable().describe('null where it could not be looked at'),
  unit: z.enum(['ms', 's', 'share', 'count']),
  warn: z.number().describe('`degraded` from here on'),
  critical: z.number().nullable().describe('`critical` from here on'),
  reason: z.string().nullable().describe('null when it is ok'),
  runbook: z.string().describe('what to do about it'),
});
export type HealthCheck = z.infer<typeof healthCheckSchema>;

export const healthSchema = z.object({
  state: z.enum(healthStates).describe('that of the worst'),
  checks: z.array(healthCheckSchema),
});
export type Health = z.infer<typeof healthSchema>;

export const usageItemSchema = z.object({
  sandbox: idSchema('sandbox'),
  name: z.string().nullable(),
  owner: ownerSchema,
  driver: z.string().nullable(),
  stats: sandboxStatsSchema.nullable().describe('null where nobody could tell'),
});
export type SandboxUsage = z.infer<typeof usageItemSchema>;

export const usageSchema = z.object({
  items: z.array(usageItemSchema),
  isWhole: z.boolean().describe('false when there are more than were asked for'),
});
export type SandboxesUsage = z.infer<typeof usageSchema>;

export const healthRoutes = {
  'system.health': route({
    method: 'GET',
    path: '/v1/health',
    summary: 'How the server does, with what it was judged by and what to do about it',
    tag: 'system',
    scope: 'admin',
    responses: { 200: healthSchema },
  }),
  'usage.list': route({
    method: 'GET',
    path: '/v1/usage',
    summary: 'What the sandboxes of your project that run use at the moment, the newest first',
    tag: 'sandboxes',
    scope: 'read',
    query: z.strictObject({ limit: z.coerce.number().pipe(z.int().min(1).max(500)).default(100) }),
    responses: { 200: usageSchema },
  }),
} as const;
