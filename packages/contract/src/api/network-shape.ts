import { z } from 'zod';
import { networkLimitsSchema, networkRulesSchema } from '../network/policy.ts';
import { type EgressRefusal, egressRefusals } from '../network/refusals.ts';

/** The rules of a sandbox as they hold now. */
export const sandboxNetworkSchema = networkRulesSchema.extend({
  revision: z.int().min(0).describe('rises with each change; 0 when they are those it was made with'),
  isChanged: z.boolean().describe('somebody changed them since it was made, or since what it was made from was'),
});

export type SandboxNetwork = z.infer<typeof sandboxNetworkSchema>;

/** What is absent stays as it is; what is there takes the place of the whole part. */
export const changeNetworkSchema = networkRulesSchema
  .partial()
  .extend({ revision: z.int().min(0).optional().describe('change them only when this is their revision') });

export type ChangeNetwork = z.infer<typeof changeNetworkSchema>;

export const egressVerdicts = ['allowed', 'refused'] as const;
const refusalNames = Object.keys(egressRefusals) as [EgressRefusal, ...EgressRefusal[]];

/** Equal decisions of one moment are one record with a count. */
export const egressRecordSchema = z.object({
  position: z.int().min(1).describe('position in the log; what `Last-Event-ID` resumes after'),
  time: z.iso.datetime().describe('of the first of them'),
  verdict: z.enum(egressVerdicts),
  host: z.string().describe('name or address; `*` stands for several that came too fast to be told apart'),
  port: z.int().min(0).max(65_535).describe('0 with the host `*`'),
  protocol: z.enum(['http', 'connect', 'socks']),
  address: z.string().nullable().describe('the address that was decided on; null when it was refused before'),
  rule: z.string().nullable().describe('the entry that decided, where one did'),
  why: z.enum(refusalNames).nullable().describe('why it was refused'),
  suggestion: z.string().nullable().describe('the entry that would allow it, where one could'),
  secrets: z.array(z.string()).describe('names of the secrets that were put in'),
  count: z.int().min(1),
});

export type EgressRecord = z.infer<typeof egressRecordSchema>;

const trafficSchema = z.object({
  sentBytes: z.int().min(0),
  receivedBytes: z.int().min(0),
  connections: z.int().min(0),
  allowed: z.int().min(0).describe('decisions'),
  refused: z.int().min(0).describe('decisions'),
});

export type EgressTraffic = z.infer<typeof trafficSchema>;

/** Of its whole life. */
export const egressUsageSchema = z.object({
  hosts: z
    .array(trafficSchema.extend({ host: z.string().describe('`*` for those beyond the first thousand') }))
    .describe('those with the most bytes first'),
  totals: trafficSchema,
  limits: networkLimitsSchema,
});

export type EgressUsage = z.infer<typeof egressUsageSchema>;

export const networkPresetSchema = z.object({
  name: z.string(),
  description: z.string(),
  entries: z.array(z.string()),
});

export type NetworkPreset = z.infer<typeof networkPresetSchema>;
