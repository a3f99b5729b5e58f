import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { lineSchema, nameSchema } from '../names.ts';
import { tenantSchema } from '../owner.ts';
import { pageQuery, pageSchema } from './paging.ts';
import { byteAnswer, route } from './route.ts';

const tag = 'credits';
/** Amounts are whole micro-units of credit; this many are far below where numbers lose their last digit. */
export const maxCreditMicros = 1_000_000_000_000_000;
const micros = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const ofTenant = { tenant: tenantSchema.optional().describe("the operator's choice; else your own") };

/**
 * Where credits are. Every movement takes from one and gives the same to another, so that all together are nothing.
 * `granted` is what the operator gave (below nothing), `earned` what was used.
 */
export const creditAccounts = ['available', 'held', 'granted', 'earned'] as const;
export type CreditAccount = (typeof creditAccounts)[number];

/**
 * - `grant`: given by the operator, or with a negative amount taken back.
 * - `hold`: set aside for a sandbox, before anything of it is made and again while it lives.
 * - `charge`: used.
 * - `release`: set aside and not needed.
 */
export const creditKinds = ['grant', 'hold', 'charge', 'release'] as const;
export type CreditKind = (typeof creditKinds)[number];

export const creditBalanceSchema = z.object({
  tenant: nameSchema,
  limited: z
    .boolean()
    .describe('false where nobody ever gave credits, and while they are switched off: nothing is refused'),
  off: z.boolean().describe('switched off: nothing is set aside or charged, and what is used is told as ever'),
  availableMicros: micros,
  heldMicros: micros.describe('set aside for sandboxes that live'),
  usedMicros: micros,
  unpaidMicros: micros.describe('used when nothing was left; it was written off'),
});
export type CreditBalance = z.infer<typeof creditBalanceSchema>;

export const creditTransferSchema = z.object({
  position: z.int().min(1),
  id: idSchema('entry'),
  tenant: nameSchema,
  kind: z.enum(creditKinds),
  amountMicros: z.int(),
  from: z.enum(creditAccounts),
  to: z.enum(creditAccounts),
  sandbox: idSchema('sandbox').nullable(),
  note: z.string().nullable(),
  time: z.iso.datetime(),
});
export type CreditTransfer = z.infer<typeof creditTransferSchema>;

/** What one sandbox used in one stretch of time at one price. Each is told once it is over, and never changes. */
export const usageRecordSchema = z.object({
  position: z.int().min(1),
  id: idSchema('entry'),
  tenant: nameSchema,
  project: nameSchema,
  principal: nameSchema,
  sandbox: idSchema('sandbox'),
  driver: z.string(),
  host: z.string(),
  phase: z.enum(['running', 'paused', 'stopped']),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  seconds: z.number().min(0),
  cpus: z.number().min(0),
  memoryMiB: z.int().min(0),
  diskMiB: z.int().min(0),
  perHourMicros: micros,
  chargedMicros: micros,
  unpaidMicros: micros,
});
export type UsageRecord = z.infer<typeof usageRecordSchema>;

const usageFilter = {
  ...ofTenant,
  project: nameSchema.optional(),
  sandbox: idSchema('sandbox').optional(),
  since: z.iso.datetime().optional(),
  until: z.iso.datetime().optional(),
};

export const creditRoutes = {
  'credits.show': route({
    method: 'GET',
    path: '/v1/credits',
    summary: 'How many credits there are, and how many are set aside',
    tag,
    scope: 'read',
    query: z.strictObject(ofTenant),
    responses: { 200: creditBalanceSchema },
  }),
  'credits.add': route({
    method: 'POST',
    path: '/v1/credits',
    summary: 'Give credits to a tenant, or take them back; from the first on it is limited. For the operator',
    tag,
    scope: 'admin',
    body: z.strictObject({
      ...ofTenant,
      amountMicros: z.int().min(-maxCreditMicros).max(maxCreditMicros),
      note: lineSchema(200).optional(),
      reference: lineSchema(100)
        .min(1)
        .optional()
        .describe('such as the number of an invoice: a second one of the same changes nothing'),
    }),
    responses: { 200: creditBalanceSchema },
  }),
  'credits.switch': route({
    method: 'PUT',
    path: '/v1/credits/switch',
    summary: 'Whether a tenant pays from now on; its balance stays, and what it uses is told. For the operator',
    tag,
    scope: 'admin',
    body: z.strictObject({ ...ofTenant, on: z.boolean() }),
    responses: { 200: creditBalanceSchema },
  }),
  'credits.history': route({
    method: 'GET',
    path: '/v1/credits/history',
    summary: 'Every movement of credits, newest first',
    tag,
    scope: 'manage',
    query: z.strictObject({ ...pageQuery, ...ofTenant, sandbox: idSchema('sandbox').optional() }),
    responses: { 200: pageSchema(creditTransferSchema) },
  }),
  'credits.usage': route({
    method: 'GET',
    path: '/v1/credits/usage',
    summary: 'What sandboxes used, stretch by stretch, oldest first',
    tag,
    scope: 'manage',
    query: z.strictObject({ ...pageQuery, ...usageFilter }),
    responses: { 200: pageSchema(usageRecordSchema) },
  }),
  'credits.export': route({
    method: 'GET',
    path: '/v1/credits/usage/export',
    summary: 'The same without pages, as lines of JSON',
    tag,
    scope: 'manage',
    query: z.strictObject(usageFilter),
    responses: { 200: byteAnswer },
    download: 'lines',
  }),
} as const;
