import { z } from 'zod';
import { lineSchema, nameSchema } from '../names.ts';
import { networkLimitsSchema } from '../network/policy.ts';
import { hostNameSchema } from '../routing/host-name.ts';
import { routeStrategies } from '../routing/route-decision.ts';

/**
 * A profile is a named, versioned recipe: defaults of a spec, and what surrounds it (route, lease, limits, snapshots,
 * warm pool, price). Published versions never change; a change is a new version.
 *
 * Inheritance: `extends` names one parent. What the child says wins; see `inherit.ts` for how each part merges.
 * Inputs: a string of the form `${inputs.name}` anywhere in `spec` is replaced by the value that `create` was given.
 *
 * Example
 *   name: agent-dev
 *   version: 2
 *   extends: { name: base }
 *   inputs: { repo: { type: string, required: true, description: git URL to work on } }
 *   spec: { repo: "${inputs.repo}", harness: claude-code, packages: [git, ripgrep] }
 *   lease: { ttlSeconds: 7200, maxTtlSeconds: 86400, idleSeconds: 1800, atExpiry: snapshot-then-destroy }
 *   onePerOwner: true
 */
const seconds = z.int().min(1).max(31_536_000).describe('at most a year');

/** Inputs become parts of a spec, so their names must be readable in `${inputs.name}`. */
export const inputNameSchema = z
  .string()
  .regex(/^[a-z][a-zA-Z0-9_]{0,62}$/, 'must be a letter and up to 62 letters, digits or _');

export const profileInputSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('string'),
    description: lineSchema(500).optional(),
    required: z.boolean().optional(),
    default: z.string().max(4096).optional(),
    choices: z.array(z.string().max(200)).min(1).max(100).optional(),
  }),
  z.strictObject({
    type: z.literal('number'),
    description: lineSchema(500).optional(),
    required: z.boolean().optional(),
    default: z.number().optional(),
    min: z.number().optional(),
    max: z.number().optional(),
  }),
  z.strictObject({
    type: z.literal('boolean'),
    description: lineSchema(500).optional(),
    required: z.boolean().optional(),
    default: z.boolean().optional(),
  }),
]);

export type ProfileInput = z.infer<typeof profileInputSchema>;
export type InputValue = string | number | boolean;

/**
 * What becomes of a sandbox when its lease ends, by how much of it is kept. Whoever creates one may choose what keeps less
 * than its profile says, never more.
 */
export const leaseEnds = ['destroy', 'snapshot-then-destroy', 'stop', 'pause'] as const;
export type LeaseEnd = (typeof leaseEnds)[number];

export const leasePolicySchema = z.strictObject({
  ttlSeconds: seconds.optional().describe('how long a sandbox lives when the caller does not say'),
  maxTtlSeconds: seconds.optional().describe('no extension goes beyond this, counted from creation'),
  idleSeconds: seconds.optional().describe('how long it may be unused'),
  warnSeconds: seconds
    .optional()
    .describe('how long before the end a warning event comes; five minutes or a tenth of the TTL when absent'),
  atExpiry: z.enum(leaseEnds).optional(),
});

export const resourceLimitsSchema = z.strictObject({
  cpus: z.number().positive().max(256).optional(),
  memoryMiB: z.int().min(16).max(4_194_304).optional(),
  diskMiB: z.int().min(16).max(67_108_864).optional(),
  pids: z.int().min(8).max(4_194_304).optional(),
});

export const networkPolicySchema = z.strictObject({
  mode: z.enum(['off', 'allowlist', 'open']).optional(),
  allow: z.array(lineSchema(300)).max(1000).optional(),
  deny: z.array(lineSchema(300)).max(1000).optional(),
  limits: networkLimitsSchema.optional(),
  secrets: z
    .array(lineSchema(255))
    .max(100)
    .optional()
    .describe('names of stored secrets that are put in on the way out'),
});

export const snapshotPolicySchema = z.strictObject({
  perTool: z.boolean().optional().describe('a snapshot after each tool that may change files'),
  keepTurns: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('older snapshots of turns, and of tools, are pruned; named ones never silently'),
});

export const poolPolicySchema = z
  .strictObject({ min: z.int().min(0).max(1000), max: z.int().min(0).max(1000) })
  .refine((pool) => pool.min <= pool.max, 'min must not be above max');

export const routePolicySchema = z.strictObject({
  strategy: z.enum(routeStrategies).optional(),
  drivers: z.array(nameSchema).max(20).optional().describe('candidates in order of preference; absent means all'),
  hosts: z
    .array(hostNameSchema)
    .max(100)
    .optional()
    .describe('in order of preference; others are taken when none of these can, unless the strategy is explicit'),
  maxPricePerHourMicros: z.int().min(0).optional().describe('price ceiling, in micro-units of credit'),
});

export const profileSchema = z.strictObject({
  name: nameSchema,
  version: z.int().min(1).max(1_000_000),
  description: lineSchema(500).optional(),
  extends: z.strictObject({ name: nameSchema, version: z.int().min(1).optional() }).optional(),
  inputs: z
    .record(inputNameSchema, profileInputSchema)
    .refine((inputs) => Object.keys(inputs).length <= 50, 'must have at most 50 inputs')
    .optional(),
  spec: z.record(z.string().max(63), z.unknown()).optional().describe('a workspace spec, whole or in part'),
  sourceRequired: z.boolean().optional().describe('false: a sandbox of this profile needs no repository'),
  lease: leasePolicySchema.optional(),
  resources: resourceLimitsSchema.optional(),
  network: networkPolicySchema.optional(),
  snapshots: snapshotPolicySchema.optional(),
  pool: poolPolicySchema.optional(),
  route: routePolicySchema.optional(),
  onePerOwner: z.boolean().optional(),
  selfCheck: z.boolean().optional().describe('a new sandbox looks at itself before it is ready'),
  autoPauseSeconds: seconds.optional(),
  autoResume: z.boolean().optional(),
  priceClass: nameSchema.optional(),
});

/** A profile as somebody wrote it. */
export type Profile = z.infer<typeof profileSchema>;

/** A profile with its ancestors folded in: nothing is left to look up. */
export type ResolvedProfile = Omit<Profile, 'extends'> & { readonly lineage: readonly string[] };

export const profileRefSchema = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:@[1-9][0-9]{0,5})?$/, 'must be a profile name, or name@version');

export function parseProfileRef(ref: string): { name: string; version?: number } {
  const [name = '', version] = ref.split('@');
  return version === undefined ? { name } : { name, version: Number(version) };
}

export function profileRef(profile: { name: string; version: number }): string {
  return `${profile.name}@${profile.version}`;
}
