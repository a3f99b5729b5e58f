import { z } from 'zod';
import { idSchema } from '../ids.ts';
import {
  changeNetworkSchema,
  egressRecordSchema,
  egressUsageSchema,
  egressVerdicts,
  networkPresetSchema,
  sandboxNetworkSchema,
} from './network-shape.ts';
import { pageQuery, pageSchema } from './paging.ts';
import { route } from './route.ts';

const tag = 'network';
const params = z.strictObject({ id: idSchema('sandbox') });

/** What a sandbox may reach, and what it reached. */
export const networkRoutes = {
  'network.get': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/network',
    summary: 'What it may reach',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    responses: { 200: sandboxNetworkSchema },
  }),
  'network.set': route({
    method: 'PUT',
    path: '/v1/sandboxes/{id}/network',
    summary: 'Change what it may reach; when this answers, the rules hold and what they forbid is closed',
    tag,
    scope: 'use',
    owned: 'sandbox',
    repeatable: true,
    params,
    body: changeNetworkSchema,
    responses: { 200: sandboxNetworkSchema },
  }),
  'egress.log': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/egress',
    summary: 'What it wanted to reach and what was decided, oldest first; live with `Accept: text/event-stream`',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    query: z.strictObject({ ...pageQuery, verdict: z.enum(egressVerdicts).optional() }),
    responses: { 200: pageSchema(egressRecordSchema) },
    stream: egressRecordSchema,
  }),
  'egress.usage': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/egress/usage',
    summary: 'Bytes, connections and decisions by host, and its limits',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    responses: { 200: egressUsageSchema },
  }),
  'network.presets': route({
    method: 'GET',
    path: '/v1/network/presets',
    summary: 'Names that stand for the hosts of a well-known service',
    tag,
    scope: 'read',
    responses: { 200: z.object({ items: z.array(networkPresetSchema) }) },
  }),
} as const;
