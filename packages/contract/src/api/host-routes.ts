import { z } from 'zod';
import { ownerSchema } from '../owner.ts';
import { rejectionSchema, routeStrategies } from '../routing/route-decision.ts';
import { route } from './route.ts';

const tag = 'hosts';
const bytes = z.number().min(0);

const probedDriverSchema = z.object({
  name: z.string(),
  usable: z.boolean(),
  version: z.string().nullable(),
  detail: z.string().describe('what it stands on, or why it cannot be used'),
  fix: z.string().nullable(),
});

export const hostReportSchema = z.object({
  name: z.string(),
  version: z.string().describe('of the server'),
  node: z.string(),
  kernel: z.string(),
  uptimeSeconds: z.number().min(0),
  cpus: z.int().min(1),
  load: z.tuple([z.number(), z.number(), z.number()]).describe('over 1, 5 and 15 minutes'),
  memory: z.object({ totalBytes: bytes, availableBytes: bytes }),
  disk: z.object({ totalBytes: bytes, freeBytes: bytes }).describe('where the data folder is'),
  storage: z
    .object({
      name: z.string(),
      why: z.string(),
      state: z.enum(['ok', 'warn', 'critical']),
      totalBytes: bytes,
      freeBytes: bytes,
    })
    .nullable(),
  sandboxes: z.object({
    live: z.int().describe('that take a place, members of warm pools included'),
    max: z.int().nullable(),
    byState: z.record(z.string(), z.int()),
    inPools: z.int(),
  }),
  lacks: z.array(rejectionSchema).describe('why nothing more is placed here; empty when there is room'),
  drivers: z.array(
    probedDriverSchema.extend({
      trust: z.enum(['closed', 'open', 'half-open']).describe('its circuit breaker: `open` is left alone'),
      latencyMs: z.number().nullable().describe('its launches of late'),
    }),
  ),
});

export type HostReport = z.infer<typeof hostReportSchema>;

export const staleKinds = ['orphan-instance', 'orphan-directory', 'zombie-record', 'aged-sandbox'] as const;

export const staleItemSchema = z.object({
  kind: z.enum(staleKinds),
  name: z.string().describe('its id, or what the backend calls it'),
  driver: z.string().nullable(),
  owner: ownerSchema.nullable(),
  detail: z.string(),
  reapable: z.boolean().describe('false for what nobody can name, or nobody asked to end'),
});

export type StaleItem = z.infer<typeof staleItemSchema>;

export const staleReportSchema = z.object({
  items: z.array(staleItemSchema),
  unseen: z.array(z.object({ driver: z.string(), why: z.string() })).describe('backends that did not answer'),
});

export type StaleReport = z.infer<typeof staleReportSchema>;

export const reapReportSchema = staleReportSchema.extend({
  applied: z.boolean(),
  items: z.array(staleItemSchema.extend({ reaped: z.boolean() })),
});

export type ReapReport = z.infer<typeof reapReportSchema>;

const agedSeconds = z.number().int().min(60).max(315_360_000);

export const capabilitiesSchema = z.object({
  version: z.string(),
  api: z.literal('v1'),
  drivers: z.array(
    probedDriverSchema.extend({
      capabilities: z.record(z.string(), z.unknown()),
      runtimes: z.array(z.object({ name: z.string(), usable: z.boolean(), detail: z.string() })),
    }),
  ),
  storage: z
    .object({ name: z.string(), snapshotCost: z.string(), ownDisk: z.boolean(), quota: z.boolean() })
    .nullable(),
  networkModes: z.array(z.string()).describe('that at least one driver has'),
  profiles: z.array(z.string()).describe('name@version, the newest of each'),
  strategies: z.array(z.enum(routeStrategies)),
  hosts: z.array(z.string()),
  limits: z.object({ sandboxesPerTenant: z.int().nullable(), sandboxesPerHost: z.int().nullable() }),
  pricesAsOf: z.string(),
});

export type InstallationCapabilities = z.infer<typeof capabilitiesSchema>;

export const hostRoutes = {
  'host.inspect': route({
    method: 'GET',
    path: '/v1/host',
    summary: 'How the host does: load, memory, disk, sandboxes, drivers',
    tag,
    scope: 'admin',
    responses: { 200: hostReportSchema },
  }),
  'host.stale': route({
    method: 'GET',
    path: '/v1/host/stale',
    summary: 'What record, backends and storage disagree about, and sandboxes of a great age',
    tag,
    scope: 'admin',
    query: z.strictObject({
      agedSeconds: z.coerce.number().pipe(agedSeconds).default(604_800).describe('what counts as a great age'),
    }),
    responses: { 200: staleReportSchema },
  }),
  'host.reap': route({
    method: 'POST',
    path: '/v1/host/reap',
    summary: 'End what is stale; without `apply` it is only told. Aged sandboxes only with `agedSeconds`',
    tag,
    scope: 'admin',
    repeatable: true,
    body: z.strictObject({ apply: z.boolean().default(false), agedSeconds: agedSeconds.optional() }).prefault({}),
    responses: { 200: reapReportSchema },
  }),
  'capabilities.get': route({
    method: 'GET',
    path: '/v1/capabilities',
    summary: 'What this installation can do, for a machine',
    tag: 'system',
    scope: 'read',
    responses: { 200: capabilitiesSchema },
  }),
} as const;
