import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { reasonSchema } from '../lifecycle/reasons.ts';
import { nameSchema } from '../names.ts';
import { hostNameSchema } from './host-name.ts';

/**
 * A route is the choice of a backend (a driver on a host) for one sandbox, with its reasons.
 *
 * Laws
 * - Every candidate is in the decision: with its rank, or with each reason why it cannot serve.
 * - What is required rejects; what is preferred only ranks, and is named in `unmet`.
 * - The order of ranks is the order of tries: when the first cannot launch, through its own fault, the next is tried.
 */
export const routeStrategies = ['explicit', 'prefer-self-hosted', 'lowest-cost', 'lowest-latency'] as const;
export type RouteStrategy = (typeof routeStrategies)[number];

/** Why a candidate cannot serve. But for the last, each is also the code of an error. */
export const rejectionCodes = [
  'unsupported-os',
  'unsupported-harness',
  'unsupported-package',
  'unsupported-access-mode',
  'unsupported-runtime-requirement',
  'network_not_available',
  'stop_not_available',
  'price_above_ceiling',
  'circuit_open',
  'host_full',
  'storage_full',
  'max_sandboxes_reached',
  'not_asked_for',
] as const;

export type RejectionCode = (typeof rejectionCodes)[number];

export const rejectionSchema = z.object({
  code: z.enum(rejectionCodes),
  path: z.string().nullable().describe('the field that asks for it, where there is one'),
  message: z.string(),
});

export type Rejection = z.infer<typeof rejectionSchema>;

const backend = { driver: nameSchema, host: hostNameSchema };
export const backendSchema = z.object(backend);

/** A driver on a host. */
export type Backend = z.infer<typeof backendSchema>;

export const routeCandidateSchema = z.object({
  ...backend,
  rank: z.int().min(1).nullable().describe('its place in the order of tries; null when it is rejected'),
  score: z.number().nullable().describe('what the strategy compares, less is better; null when that is not known'),
  selfHosted: z.boolean(),
  pricePerHourMicros: z.int().min(0).nullable().describe('null when the price table has none'),
  latencyMs: z.number().min(0).nullable().describe('its launches of late; null when there are none'),
  unmet: z.array(z.string()).describe('what is preferred and not had there'),
  rejections: z.array(rejectionSchema),
});

export type RouteCandidate = z.infer<typeof routeCandidateSchema>;

export const routeDecisionSchema = z.object({
  strategy: z.enum(routeStrategies),
  chosen: backendSchema.nullable().describe('null when no backend can serve'),
  maxPricePerHourMicros: z.int().min(0).nullable(),
  pricesAsOf: z.string(),
  candidates: z.array(routeCandidateSchema).describe('in the order of tries, then those that are rejected'),
});

export type RouteDecision = z.infer<typeof routeDecisionSchema>;

/** A launch that did not come to its end on one backend, after which the next was tried. */
export const failedTrySchema = z.object({ ...backend, reason: reasonSchema, ms: z.number().min(0) });
export type FailedTry = z.infer<typeof failedTrySchema>;

/** The route that a sandbox took. */
export const sandboxRouteSchema = routeDecisionSchema.extend({
  attempt: idSchema('attempt'),
  driver: nameSchema.nullable().describe('where it is'),
  host: z.string().nullable(),
  claimed: z.boolean().describe('it was made ahead: a member of a warm pool'),
  failedTries: z.array(failedTrySchema),
});

export type SandboxRoute = z.infer<typeof sandboxRouteSchema>;
