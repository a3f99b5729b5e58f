import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { type ActionName, actionNames } from '../lifecycle/actions.ts';
import { reasonSchema } from '../lifecycle/reasons.ts';
import { sandboxStates } from '../lifecycle/states.ts';
import { labelsSchema, nameSchema } from '../names.ts';
import { ownerSchema } from '../owner.ts';

export const sandboxStateSchema = z.enum(sandboxStates);

const nullableTime = z.iso.datetime().nullable();

/** What happens to a sandbox by itself: of its profile, and of whoever created it over that. */
export const sandboxPolicySchema = z.object({
  keepTurns: z.int().min(1).describe('how many snapshots of turns are kept, and how many of tools'),
  perTool: z.boolean().describe('a snapshot after each tool that may change files'),
  autoPauseSeconds: z.int().min(1).nullable().describe('paused after so long without use'),
  autoResume: z.boolean().describe('use resumes it when it is paused'),
});

export type SandboxPolicy = z.infer<typeof sandboxPolicySchema>;

/** A sandbox as every surface shows it. */
export const sandboxSchema = z.object({
  id: idSchema('sandbox'),
  name: nameSchema.nullable(),
  owner: ownerSchema,
  profile: z.object({ name: nameSchema, version: z.int() }).nullable(),
  state: sandboxStateSchema,
  action: z
    .enum(actionNames as [ActionName, ...ActionName[]])
    .nullable()
    .describe('what runs at the moment'),
  reason: reasonSchema.nullable().describe('why it is in this state'),
  incarnation: z.int().min(1).describe('raised by each recreate'),
  labels: labelsSchema,
  attempt: idSchema('attempt').nullable().describe('the newest try at build and launch'),
  driver: nameSchema.nullable(),
  host: z.string().nullable(),
  blueprintDigest: z.string(),
  persistence: z.enum(['ephemeral', 'persistent']),
  notices: z.array(z.string()).describe('where the backend gives less than the spec asked for'),
  policy: sandboxPolicySchema,
  turn: z.int().min(0).describe('the newest turn that was completed; 0 before the first'),
  head: idSchema('snapshot').nullable().describe('the snapshot that its files were last equal to'),
  rollbackTo: idSchema('snapshot').nullable().describe('where a rollback that runs leads'),
  origin: z
    .object({ sandbox: idSchema('sandbox'), snapshot: idSchema('snapshot').nullable() })
    .nullable()
    .describe('what it was restored from; a fork has no snapshot'),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  readyAt: nullableTime,
  expiresAt: nullableTime,
});

export type Sandbox = z.infer<typeof sandboxSchema>;

const attemptFields = {
  id: idSchema('attempt'),
  sandbox: idSchema('sandbox'),
  incarnation: z.int().min(1),
  action: z.enum(['create', 'recreate', 'start', 'restore', 'fork']),
  state: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
  reason: reasonSchema.nullable(),
  driver: nameSchema.nullable(),
  startedAt: z.iso.datetime(),
  endedAt: nullableTime,
};

/** One try at build and launch. */
export const attemptSummarySchema = z.object({
  ...attemptFields,
  blueprintDigest: z.string(),
  fromSnapshot: idSchema('snapshot').nullable().describe('the snapshot that its files come from'),
});

export type AttemptSummary = z.infer<typeof attemptSummarySchema>;

/** The same with its inputs as they were, each of which may be large. */
export const attemptSchema = attemptSummarySchema.extend({
  spec: z.unknown().describe('what the caller wrote'),
  resolvedSpec: z.unknown().describe('with the profile and its inputs merged in'),
  blueprint: z.unknown(),
  planDigest: z.string().nullable().describe('null where nothing was built'),
  plan: z.unknown().describe('what its image was built of; null where nothing was built'),
  build: idSchema('build').nullable().describe('the build that made its image'),
  image: z.string().nullable().describe('the digest of the image that it began from; null until that is known'),
  sources: z
    .object({
      commit: z.string().optional().describe("of the workspace's repository, or the digest of what else it is"),
      branch: z.string().optional().describe('the branch that the commit is of, where it was found by one'),
      inputs: z.record(z.string(), z.string()).optional().describe('by their ids: commits and digests'),
    })
    .nullable()
    .describe('what its sources stood for; null where it has none'),
});

export type Attempt = z.infer<typeof attemptSchema>;
