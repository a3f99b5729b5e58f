import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { lineSchema } from '../names.ts';
import { userSchema } from './process-shape.ts';
import { type ToolName, toolNames, tools } from './tool-table.ts';

/**
 * What an answer may hold. It is kept for a day for whoever asks again, and as one event it must fit a reader's memory
 * also when each byte is escaped.
 */
export const maxToolOutputBytes = 1024 * 1024;

/** Each is a limit of the kernel on every process of the call. What a sandbox has as a whole is in its spec. */
export const toolResourcesSchema = z.strictObject({
  memoryMiB: z.int().min(1).max(4_194_304).optional().describe('address space of each process'),
  cpuSeconds: z.int().min(1).max(86_400).optional().describe('processor time of each process'),
  openFiles: z.int().min(8).max(1_048_576).optional().describe('of each process'),
});

export type ToolResources = z.infer<typeof toolResourcesSchema>;

export const runToolSchema = z.strictObject({
  tool: lineSchema(64).min(1).describe('its name; `GET /v1/tools` lists them'),
  callId: lineSchema(200).min(1).describe('of the caller: the same one again gets the first answer and runs nothing'),
  params: z.record(z.string(), z.unknown()).default({}).describe('as the schema of the tool says'),
  resources: toolResourcesSchema.optional().describe('for tools that run a program'),
  timeoutSeconds: z.number().min(0.001).max(3_600).default(120),
  user: userSchema.optional(),
  snapshot: z.boolean().optional().describe('after a tool that may change files; what the sandbox does when absent'),
  maxOutputBytes: z
    .int()
    .min(1)
    .max(maxToolOutputBytes)
    .default(262_144)
    .describe('of the content; of more the beginning and the end are kept, and `truncated` tells'),
});

export type RunTool = z.input<typeof runToolSchema>;
export type ToolRequest = z.output<typeof runToolSchema>;

export const toolBlockSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('bytes'), base64: z.string(), mediaType: z.string() }),
]);

export type ToolBlock = z.infer<typeof toolBlockSchema>;

const toolNameSchema = z.enum(toolNames as [ToolName, ...ToolName[]]);

/** How a tool ended. One that could not do its work has answered too: its exit code is not 0. */
export const toolAnswerSchema = z.object({
  tool: toolNameSchema,
  callId: z.string(),
  tier: z.union([z.literal(1), z.literal(2)]),
  content: z.array(toolBlockSchema),
  exitCode: z.int().describe('of its program: 128 and the signal when one ended it, 124 when its time was up'),
  error: z
    .object({ code: z.string(), message: z.string(), hint: z.string() })
    .nullable()
    .describe('why it could not do its work, where that is not the word of a program'),
  timedOut: z.boolean(),
  truncated: z.boolean(),
  durationMs: z.number(),
  snapshot: idSchema('snapshot').nullable().describe('made after it'),
  notices: z.array(z.string()),
});

export type ToolAnswer = z.infer<typeof toolAnswerSchema>;

/** What a program writes while it runs. The events `answer` and `problem` end the stream. */
export const toolProgressSchema = z.object({
  stream: z.enum(['stdout', 'stderr']),
  text: z.string(),
  lost: z.int().optional().describe('characters before these that a slow reader missed'),
});

export type ToolProgress = z.infer<typeof toolProgressSchema>;

export const toolDescriptionSchema = z.object({
  name: toolNameSchema,
  tier: z.union([z.literal(1), z.literal(2)]),
  summary: z.string(),
  changesFiles: z.boolean(),
  params: z.record(z.string(), z.unknown()).describe('as a JSON Schema'),
});

export type ToolDescription = z.infer<typeof toolDescriptionSchema>;

/** Every tool as a model is told of it. */
export function describeTools(): ToolDescription[] {
  return toolNames.map((name) => {
    const { tier, summary, changesFiles, params } = tools[name];
    const { $schema: _, ...schema } = z.toJSONSchema(params, { io: 'input', target: 'draft-2020-12' });
    return { name, tier, summary, changesFiles, params: schema };
  });
}
