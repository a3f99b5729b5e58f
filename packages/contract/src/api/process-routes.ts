import { z } from 'zod';
import { idSchema } from '../ids.ts';
import {
  commandSchema,
  envSchema,
  pathSchema,
  processSchema,
  ptySchema,
  signalSchema,
  tagSchema,
  timeoutSecondsSchema,
  userSchema,
  whyEnded,
} from './process-shape.ts';
import { byteAnswer, route } from './route.ts';

const tag = 'processes';
const sandbox = z.strictObject({ id: idSchema('sandbox') });
const params = z.strictObject({ id: idSchema('sandbox'), process: idSchema('process') });
const path = '/v1/sandboxes/{id}/processes/{process}' as const;

/** More is for the stream of frames: a collected answer is held in memory three times over. */
export const maxOutputBytes = 16 * 1024 * 1024;

const offset = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const commandFields = {
  command: commandSchema,
  env: envSchema.optional(),
  cwd: pathSchema.optional(),
  user: userSchema.optional(),
  timeoutSeconds: timeoutSecondsSchema.optional().describe('then SIGTERM, and SIGKILL five seconds later'),
};

export const execSchema = z.strictObject({
  ...commandFields,
  stdin: z.string().optional(),
  stdinBase64: z.base64().optional(),
  maxOutputBytes: z
    .int()
    .min(0)
    .max(maxOutputBytes)
    .default(1_048_576)
    .describe('of each stream; what is more is dropped and told as `truncated`'),
});

export type ExecRequest = z.input<typeof execSchema>;

export const execResultSchema = z.object({
  process: idSchema('process'),
  exitCode: z.int().nullable(),
  signal: z.string().nullable(),
  why: z.enum(whyEnded),
  stdout: z.string(),
  stderr: z.string(),
  encoding: z.enum(['utf8', 'base64']).describe('of both; `base64` when one of them is not valid UTF-8'),
  truncated: z.boolean(),
  durationMs: z.number(),
});

export type ExecResult = z.infer<typeof execResultSchema>;

export const startProcessSchema = z.strictObject({
  ...commandFields,
  process: idSchema('process').optional().describe('chosen by the caller: the same id again is the same process'),
  pty: ptySchema.optional().describe('gives it a terminal'),
  stdin: z.boolean().default(false).describe('keep a stdin to write to; a terminal always has one'),
  tags: z.array(tagSchema).max(16).default([]),
  outputWhenDetached: z
    .enum(['wait', 'drop'])
    .default('drop')
    .describe('when its kept output is full and nobody reads: the process waits, or the oldest is dropped'),
});

export type StartProcess = z.input<typeof startProcessSchema>;

export const processRoutes = {
  'process.exec': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/exec',
    summary: 'Run a command to its end; as it goes with `Accept: application/vnd.caisson.output`',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params: sandbox,
    body: execSchema,
    responses: { 200: execResultSchema },
    accepts: 'output',
  }),
  'process.start': route({
    method: 'POST',
    path: '/v1/sandboxes/{id}/processes',
    summary: 'Start a process in the background; 200 when the id was started before',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params: sandbox,
    body: startProcessSchema,
    repeatable: true,
    responses: { 200: processSchema, 201: processSchema },
  }),
  'process.list': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/processes',
    summary: 'Processes that run or have not been forgotten, oldest first',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params: sandbox,
    query: z.strictObject({ tag: tagSchema.optional() }),
    responses: { 200: z.object({ items: z.array(processSchema) }) },
  }),
  'process.get': route({
    method: 'GET',
    path,
    summary: 'One process',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    responses: { 200: processSchema },
  }),
  'process.output': route({
    method: 'GET',
    path: `${path}/output`,
    summary: 'Its output from an offset on, as frames; a newer reader takes the place of an older one',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    query: z.strictObject({
      stdoutFrom: offset.default(0),
      stderrFrom: offset.default(0),
      follow: z.stringbool().default(true).describe('false: what has been written so far, then the end'),
    }),
    responses: { 200: byteAnswer },
    download: 'output',
  }),
  'process.stdin': route({
    method: 'POST',
    path: `${path}/stdin`,
    summary: 'Write to its stdin; answers when the process has it or a little is on its way',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    query: z.strictObject({ close: z.stringbool().default(false).describe('close it after these bytes') }),
    upload: 'bytes',
    responses: { 200: z.object({ stdinBytes: z.int().describe('accepted since its start') }) },
  }),
  'process.signal': route({
    method: 'POST',
    path: `${path}/signal`,
    summary: 'Send a signal to its process group',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    body: z.strictObject({ signal: signalSchema }),
    responses: { 200: processSchema },
  }),
  'process.resize': route({
    method: 'POST',
    path: `${path}/resize`,
    summary: 'Change the size of its terminal',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    body: ptySchema,
    repeatable: true,
    responses: { 200: processSchema },
  }),
  'process.wait': route({
    method: 'POST',
    path: `${path}/wait`,
    summary: 'Wait for its end; 202 when it still runs after that time',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    body: z.strictObject({ waitSeconds: z.number().min(0).max(600).default(60) }).prefault({}),
    responses: { 200: processSchema, 202: processSchema },
  }),
  'process.forget': route({
    method: 'DELETE',
    path,
    summary: 'Free the record and the output of a process that has ended',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    responses: { 200: z.object({ forgotten: z.literal(true) }) },
  }),
  'process.attach': route({
    method: 'GET',
    path: `${path}/attach`,
    summary: 'Its output and its stdin on one WebSocket; a newer one takes the place of an older one',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    query: z.strictObject({
      stdoutFrom: offset.default(0),
      stderrFrom: offset.default(0),
      acks: z.stringbool().default(false).describe('the client says what has arrived; what has not is kept'),
    }),
    responses: { 101: byteAnswer },
    webSocket: true,
  }),
} as const;
