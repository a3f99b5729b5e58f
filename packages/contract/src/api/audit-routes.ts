import { z } from 'zod';
import { idSchema } from '../ids.ts';
import { nameSchema } from '../names.ts';
import { tenantSchema } from '../owner.ts';
import { actorTypes } from '../tenancy/roles.ts';
import { pageQuery, pageSchema } from './paging.ts';
import { byteAnswer, route } from './route.ts';

/**
 * One line of the audit log: who did what to what, from where, and how it ended. It is written once and never changed.
 * Neither bodies nor query strings are in it, and so no secret.
 */
export const auditEntrySchema = z.object({
  id: idSchema('audit'),
  position: z.int().min(1).describe('its place in the log'),
  time: z.iso.datetime(),
  tenant: z.string().nullable().describe('null for strangers and for the server itself'),
  project: z.string().nullable(),
  principal: z.string().nullable(),
  actor: z
    .enum([...actorTypes, 'stranger', 'server'])
    .describe('`stranger` showed no valid key; `server` is Caisson by itself'),
  key: idSchema('key').nullable().describe('null for the user of the machine'),
  action: z.string().describe('the name of the route, or what the server did'),
  subject: z.string().nullable().describe('what it was done to'),
  address: z.string().nullable().describe('where it came from; `unix` for the socket'),
  agent: z.string().nullable().describe('what the client calls itself'),
  status: z.int().nullable(),
  code: z.string().nullable().describe('of the error, where it was refused or failed'),
  request: z.string().nullable(),
  detail: z.string().nullable(),
  count: z.int().min(1).describe('equal refusals of strangers within a second are one line'),
});
export type AuditEntry = z.infer<typeof auditEntrySchema>;

const filter = {
  tenant: tenantSchema.optional().describe("the operator's choice; else your own, or all for the operator"),
  principal: nameSchema.optional(),
  action: z.string().max(100).optional().describe('of this name, or beginning with it when it ends in a dot'),
  subject: z.string().max(200).optional(),
  since: z.iso.datetime().optional(),
  until: z.iso.datetime().optional(),
};

export const auditRoutes = {
  'audit.list': route({
    method: 'GET',
    path: '/v1/audit',
    summary: 'The audit log of your tenant, oldest first',
    tag: 'audit',
    scope: 'admin',
    query: z.strictObject({ ...pageQuery, ...filter }),
    responses: { 200: pageSchema(auditEntrySchema) },
  }),
  'audit.export': route({
    method: 'GET',
    path: '/v1/audit/export',
    summary: 'The same without pages, as lines of JSON',
    tag: 'audit',
    scope: 'admin',
    query: z.strictObject(filter),
    responses: { 200: byteAnswer },
    download: 'lines',
  }),
} as const;
