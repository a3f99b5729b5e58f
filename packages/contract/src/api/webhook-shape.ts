import { z } from 'zod';
import { type EventType, eventTypes } from '../events/event.ts';
import { idSchema } from '../ids.ts';
import { labelsSchema, lineSchema, nameSchema } from '../names.ts';

/** Of one tenant: each reads the log and holds connections of its own. */
export const maxWebhooks = 50;

/** A type that may be asked for: those of the log. */
export const loggedEventTypes = (Object.keys(eventTypes) as EventType[]).filter(
  (type) => type !== 'caisson.webhook.test',
);
export const loggedEventTypeSchema = z.enum(loggedEventTypes as [EventType, ...EventType[]]);

export const webhookUrlSchema = z
  .url({ protocol: /^https?$/, error: 'must be an `https` address' })
  .max(2048)
  .refine((url) => !hasCredentials(url), 'must not have a user name or password in it');

function hasCredentials(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}

export const addWebhookSchema = z.strictObject({
  url: webhookUrlSchema,
  description: lineSchema(200).optional(),
  types: z
    .array(loggedEventTypeSchema)
    .min(1)
    .max(50)
    .optional()
    .describe('only events of these types; all when absent'),
  labels: labelsSchema.optional().describe('only events of sandboxes with all of these labels'),
  after: z.int().min(0).optional().describe('begin after this position of the log; with what happens next when absent'),
  project: nameSchema.optional(),
});

export type AddWebhook = z.infer<typeof addWebhookSchema>;

/** A webhook as it is shown: never its secret, which exists only in the answers that make one. */
export const webhookSchema = z.object({
  id: idSchema('webhook'),
  tenant: nameSchema,
  project: nameSchema,
  url: z.string(),
  description: z.string().nullable(),
  types: z.array(z.string()).nullable(),
  labels: labelsSchema,
  createdAt: z.iso.datetime(),
  position: z.int().min(0).describe('everything up to here is delivered, held or given up'),
  held: z.int().min(0).describe('sandboxes whose events wait, because one of them could not be delivered'),
  deadLetters: z.int().min(0).describe('events that were given up'),
  error: z.string().nullable().describe('why the newest of those that wait could not be delivered'),
});

export type Webhook = z.infer<typeof webhookSchema>;

export const webhookWithSecretSchema = webhookSchema.extend({
  secret: z.string().describe('signs what is delivered; shown this once'),
});

export const webhookTestSchema = z.object({
  ok: z.boolean(),
  status: z.int().nullable().describe('of the answer, where there was one'),
  ms: z.number().min(0),
  error: z.string().nullable(),
});

export type WebhookTest = z.infer<typeof webhookTestSchema>;

export const deadLetterSchema = z.object({
  position: z.int().min(1).describe('of the event in the log'),
  event: idSchema('event'),
  type: z.string(),
  subject: z.string(),
  tries: z.int().min(1),
  error: z.string(),
  at: z.iso.datetime(),
});

export type DeadLetter = z.infer<typeof deadLetterSchema>;
