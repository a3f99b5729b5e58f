import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { lineSchema } from '../names.ts';
import { type SignalName, signalNames } from './signals.ts';

/** PATH_MAX of Linux without its NUL. */
export const maxPathBytes = 4095;
/** MAX_ARG_STRLEN of Linux without its NUL; the kernel refuses longer ones. */
const maxArgumentBytes = 131_071;
const maxArguments = 4096;

// A word for an operating system ends at the first NUL: what comes after it would be lost without a word.
const withoutNul = (schema: z.ZodString) => schema.regex(/^[^\0]*$/, 'must not contain NUL');

export const pathSchema = withoutNul(z.string().min(1).max(maxPathBytes)).describe(
  'one that does not begin with a slash begins at the home of the user',
);
export const userSchema = lineSchema(32).min(1).describe('a name or number of the sandbox; `user` when absent');
export const argumentSchema = withoutNul(z.string().max(maxArgumentBytes));

export const commandSchema = z
  .union([argumentSchema.min(1), z.array(argumentSchema).min(1).max(maxArguments)])
  .describe('text for `/bin/sh -c`, or a program and its arguments');

export const envSchema = z
  .record(
    z
      .string()
      .min(1)
      .max(1024)
      .regex(/^[^=\0]+$/, 'must be a name without `=` and NUL'),
    argumentSchema,
  )
  .refine((env) => Object.keys(env).length <= maxArguments, `must have at most ${maxArguments} variables`);

export const ptySchema = z.strictObject({ columns: z.int().min(1).max(65_535), rows: z.int().min(1).max(65_535) });

/** A month: what runs longer is a service and has no timeout. */
export const timeoutSecondsSchema = z.number().min(0.001).max(2_592_000);

export const tagSchema = lineSchema(64).min(1);

export const signalSchema = z
  .union([z.int().min(1).max(64), z.enum(signalNames as [SignalName, ...SignalName[]])])
  .describe('a number, or a name such as `SIGTERM`');

export const whyEnded = ['exited', 'signalled', 'timed_out', 'out_of_memory', 'killed_with_sandbox'] as const;

export const exitSchema = z.object({
  exitCode: z.int().nullable().describe('when it exited by itself'),
  signal: z.string().nullable().describe('when a signal ended it'),
  why: z.enum(whyEnded),
  endedAt: z.iso.datetime(),
  stdoutBytes: z.int().describe('all that it wrote'),
  stderrBytes: z.int(),
  cpuSeconds: z.number(),
  maxMemoryBytes: z.int().describe('its largest resident size'),
});

export type ProcessExit = z.infer<typeof exitSchema>;

/** A process as every surface shows it. */
export const processSchema = z.object({
  id: idSchema('process'),
  pid: z.int().describe('inside the sandbox'),
  command: z.string().describe('arguments joined by spaces, cut short'),
  user: z.string(),
  tags: z.array(z.string()),
  pty: z.boolean(),
  running: z.boolean(),
  startedAt: z.iso.datetime(),
  stdoutBytes: z.int().describe('written so far'),
  stderrBytes: z.int(),
  stdinBytes: z.int().describe('taken so far'),
  exit: exitSchema.nullable().describe('null while it runs'),
});

export type ProcessRecord = z.infer<typeof processSchema>;

/** The frame `started`. */
export const startedSchema = z.object({
  process: idSchema('process'),
  pid: z.int(),
  pty: z.boolean(),
  stdoutFrom: z.int().describe('offset of the first byte of stdout that follows'),
  stderrFrom: z.int(),
  stdinAt: z.int().describe('offset of the next byte of stdin that counts'),
});

export type ProcessStarted = z.infer<typeof startedSchema>;

/** The frame `lost`. */
export const lostSchema = z.object({
  stream: z.enum(['stdout', 'stderr']),
  bytes: z.int().describe('written while nobody read and no longer kept'),
  at: z.int().describe('offset of the next byte that follows'),
});

export type OutputLost = z.infer<typeof lostSchema>;

/** The frame `ack` of a client. */
export const ackSchema = z.strictObject({ stdout: z.int().min(0), stderr: z.int().min(0) });
