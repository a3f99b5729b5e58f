import { z } from 'zod';

export const portNumberSchema = z.int().min(1).max(65_535);
export const visibilities = ['private', 'public'] as const;

/** A week: who wants to share for longer opens the port to the public, or makes another link. */
export const maxLinkSeconds = 7 * 86_400;

/** What the program behind the port is told as `Host`: a name, with a port or without. */
export const hostHeaderSchema = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?$/, 'must be a host name, with a port or without')
  .describe('`port` is localhost and the port, `preview` the name in the URL, everything else is sent as it is');

/** A port that can be reached from outside. */
export const sharedPortSchema = z.object({
  port: portNumberSchema,
  visibility: z.enum(visibilities),
  hostHeader: hostHeaderSchema,
  url: z.string().nullable().describe('with a name of its own; null while the server listens on no address'),
  pathUrl: z.string().nullable().describe('for those whose names have no wildcard'),
  openedAt: z.iso.datetime(),
});

export type SharedPort = z.infer<typeof sharedPortSchema>;

export const openedPortSchema = sharedPortSchema.extend({
  token: z.string().optional().describe('told once: for `x-caisson-preview-token`, or once as `?caisson-token=`'),
});

export type OpenedPort = z.infer<typeof openedPortSchema>;

/** A socket inside that listens. */
export const listeningSocketSchema = z.object({
  address: z.string(),
  family: z.enum(['ipv4', 'ipv6']),
  pid: z.int().nullable().describe('a process that holds it, where it can be told'),
  uid: z.int().describe('its owner inside'),
});

export const listedPortSchema = z.object({
  port: portNumberSchema,
  listening: z.array(listeningSocketSchema).nullable().describe('null where nobody can look: it is not ready'),
  share: sharedPortSchema.nullable(),
});

export type ListedPort = z.infer<typeof listedPortSchema>;

export const portLinkSchema = z.object({
  url: z.string().nullable(),
  pathUrl: z.string().nullable(),
  expiresAt: z.iso.datetime(),
});

export type PortLink = z.infer<typeof portLinkSchema>;
