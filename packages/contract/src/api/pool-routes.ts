import { z } from 'zod';
import { nameSchema } from '../names.ts';
import { poolPolicySchema } from '../profile/profile.ts';
import { route } from './route.ts';

/** The warm pool of one profile: sandboxes made ahead, which a create that asks for the same takes over. */
export const poolSchema = z.object({
  profile: z.string().describe('name@version'),
  driver: nameSchema.nullable(),
  min: z.int().min(0),
  max: z.int().min(0),
  isSet: z.boolean().describe('somebody set its bounds; otherwise they are those of the profile'),
  wanted: z.int().min(0).describe('its size at the moment, which follows what was asked for lately'),
  ready: z.int().min(0),
  making: z.int().min(0),
  taken: z.int().min(0).describe('creates that were given a member, since the server started'),
  misses: z.int().min(0).describe('creates that found none, since the server started'),
  problem: z.string().nullable().describe('why it cannot be filled at the moment'),
});

export type Pool = z.infer<typeof poolSchema>;

export const poolRoutes = {
  'pool.list': route({
    method: 'GET',
    path: '/v1/pools',
    summary: 'The warm pools of this installation',
    tag: 'pools',
    scope: 'admin',
    responses: { 200: z.object({ items: z.array(poolSchema) }) },
  }),
  'pool.set': route({
    method: 'PUT',
    path: '/v1/pools/{profile}',
    summary: "Set the bounds of a profile's warm pool; they stand over those of the profile",
    tag: 'pools',
    scope: 'admin',
    repeatable: true,
    params: z.strictObject({ profile: nameSchema }),
    body: poolPolicySchema,
    responses: { 200: poolSchema },
  }),
} as const;
