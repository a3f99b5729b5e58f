import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { ownerSchema } from '../owner.ts';

export const buildStates = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type BuildState = (typeof buildStates)[number];

/** Why a build did not succeed: of a failing step, what it ran, how it ended and its last words. */
export const buildErrorSchema = z.object({
  code: z.string().describe('of the table of errors'),
  message: z.string(),
  step: z.string().nullable(),
  command: z.string().nullable(),
  exitCode: z.int().nullable(),
  lastLines: z.array(z.string()),
});

export type BuildError = z.infer<typeof buildErrorSchema>;

export const buildStepSchema = z.object({
  id: z.string(),
  title: z.string(),
  state: z.enum(['running', 'done', 'cached', 'failed', 'stopped']),
  startedAt: z.iso.datetime(),
  ms: z.number().min(0).nullable().describe('null while it runs'),
});

export type BuildStepRecord = z.infer<typeof buildStepSchema>;

/** A build as every surface shows it. */
export const buildSchema = z.object({
  id: idSchema('build'),
  owner: ownerSchema.describe('who asked for it first'),
  state: z.enum(buildStates),
  planDigest: z.string(),
  builder: z.string().nullable().describe('null until one has taken it'),
  tries: z.int().min(0),
  steps: z.array(buildStepSchema).describe('those of the newest try, as far as they have begun'),
  error: buildErrorSchema.nullable().describe('of a queued build: why it is tried again'),
  image: z.string().nullable().describe('the digest of what was built'),
  logBytes: z.int().min(0).describe('all that it wrote'),
  leftOutBytes: z.int().min(0).describe('of them, from the middle, not kept'),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
});

export type Build = z.infer<typeof buildSchema>;

export const buildDetailSchema = buildSchema.extend({
  plan: z.record(z.string(), z.unknown()),
  materials: z
    .string()
    .nullable()
    .describe('what is inside the image, as a CycloneDX document: packages with their versions'),
});

export type BuildDetail = z.infer<typeof buildDetailSchema>;

export const buildLogKinds = ['step-began', 'output', 'step-ended', 'note', 'ended'] as const;

/** One thing of the log of a build. `ended` is the last one. */
export const buildLogItemSchema = z.object({
  position: z.int().min(1).describe('rises within a build; what `Last-Event-ID` goes on after'),
  time: z.iso.datetime(),
  kind: z.enum(buildLogKinds),
  step: z.string().nullable(),
  text: z.string().describe('output, the title of a step, or what is to be told'),
  outcome: z.string().optional().describe('of a step or of the build that ended'),
  ms: z.number().min(0).optional(),
});

export type BuildLogItem = z.infer<typeof buildLogItemSchema>;
