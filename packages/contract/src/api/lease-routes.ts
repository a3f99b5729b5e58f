import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { nameSchema } from '../names.ts';
import { ownerSchema } from '../owner.ts';
import { leaseEnds } from '../profile/profile.ts';
import { route } from './route.ts';
import { ttlSecondsSchema } from './sandbox-routes.ts';
import { sandboxSchema, sandboxStateSchema } from './sandbox-shape.ts';

const tag = 'leases';

/** More than anybody reads at once; what is left is there the next time. */
export const maxExpiring = 500;

const expiringItemSchema = z.object({
  sandbox: idSchema('sandbox'),
  name: nameSchema.nullable(),
  owner: ownerSchema,
  state: sandboxStateSchema,
  expiresAt: z.iso.datetime(),
  atExpiry: z.enum(leaseEnds).describe('what becomes of it then'),
  due: z.boolean().describe('its lease has ended, and it still stands'),
  ended: z.boolean().describe('it was ended by this request'),
  error: z.string().nullable().describe('why it could not be ended'),
});

export const expireReportSchema = z.object({ applied: z.boolean(), items: z.array(expiringItemSchema) });
export type ExpireReport = z.infer<typeof expireReportSchema>;
export type ExpiringItem = z.infer<typeof expiringItemSchema>;

export const leaseRoutes = {
  'sandbox.extend': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/extend',
    summary: 'Let its lease end later, by so many seconds; never beyond its maximum',
    tag,
    scope: 'use',
    owned: 'sandbox',
    idempotencyKey: true,
    params: z.strictObject({ id: idSchema('sandbox') }),
    body: z.strictObject({ seconds: ttlSecondsSchema.describe('how much later') }),
    responses: { 200: sandboxSchema },
  }),
  'lease.expire': route({
    method: 'POST',
    path: '/v1/leases/expire',
    summary: 'Which leases of your project have ended or end soon; with `apply` those that are due are ended now',
    tag,
    scope: 'use',
    repeatable: true,
    body: z
      .strictObject({
        apply: z.boolean().default(false),
        withinSeconds: z.int().min(0).max(31_536_000).default(0).describe('also those that end within so long'),
        project: nameSchema.optional(),
      })
      .prefault({}),
    responses: { 200: expireReportSchema },
  }),
} as const;
