import { z } from 'zod';
import { idSchema } from '../ids.ts';
import {
  hostHeaderSchema,
  listedPortSchema,
  maxLinkSeconds,
  openedPortSchema,
  portLinkSchema,
  portNumberSchema,
  sharedPortSchema,
  visibilities,
} from './port-shape.ts';
import { byteAnswer, route } from './route.ts';

const tag = 'ports';
const sandbox = z.strictObject({ id: idSchema('sandbox') });
const params = z.strictObject({
  id: idSchema('sandbox'),
  port: z.coerce.number().int().min(1).max(65_535),
});
const path = '/v1/sandboxes/{id}/ports/{port}' as const;

export const openPortSchema = z.strictObject({
  visibility: z.enum(visibilities).default('private'),
  hostHeader: hostHeaderSchema.default('port'),
  rotate: z.boolean().default(false).describe('a new token; those before it, and all links, end'),
});

export type OpenPort = z.input<typeof openPortSchema>;

/** What either side of `port.connect` may send ahead of what the other has acknowledged. */
export const portWindowBytes = 1024 * 1024;

/**
 * Ports inside a sandbox, and how they are reached from outside.
 *
 * `port.connect` carries one connection: binary messages are its bytes, and an empty one ends that direction while the
 * other goes on. With `acks` each side says as text how many bytes it has taken in all, and the other sends no more than a
 * window ahead of that: a browser cannot hold a WebSocket back otherwise.
 */
export const portRoutes = {
  'port.list': route({
    method: 'GET',
    path: '/v1/sandboxes/{id}/ports',
    summary: 'Ports that listen inside, and those that are open to the outside',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params: sandbox,
    responses: { 200: z.object({ items: z.array(listedPortSchema) }) },
  }),
  'port.open': route({
    method: 'PUT',
    path,
    summary: 'Open a port to the outside; the token of a private one is told once',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    body: openPortSchema.prefault({}),
    responses: { 200: openedPortSchema, 201: openedPortSchema },
  }),
  'port.close': route({
    method: 'DELETE',
    path,
    summary: 'Close a port: its token, links and connections end',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    responses: { 200: sharedPortSchema },
  }),
  'port.link': route({
    method: 'POST',
    path: `${path}/links`,
    summary: 'A link to an open port that ends by itself',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    body: z.strictObject({ expiresInSeconds: z.int().min(1).max(maxLinkSeconds).default(3_600) }).prefault({}),
    responses: { 201: portLinkSchema },
  }),
  'port.wait': route({
    method: 'POST',
    path: `${path}/wait`,
    summary: 'Wait until something listens on a port; 202 when nothing does after that time',
    tag,
    scope: 'read',
    owned: 'sandbox',
    params,
    body: z.strictObject({ timeoutSeconds: z.number().min(0).max(600).default(60) }).prefault({}),
    responses: {
      200: z.object({ port: portNumberSchema, listening: z.literal(true) }),
      202: z.object({ port: portNumberSchema, listening: z.literal(false) }),
    },
  }),
  'port.connect': route({
    method: 'GET',
    path: `${path}/connect`,
    summary: 'One connection to a port as a WebSocket: bytes both ways, an empty message ends a direction',
    tag,
    scope: 'use',
    owned: 'sandbox',
    params,
    query: z.strictObject({ acks: z.stringbool().default(false).describe('both sides say what they have taken') }),
    responses: { 101: byteAnswer },
    webSocket: true,
  }),
} as const;
