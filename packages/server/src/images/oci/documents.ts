import { CaissonError } from '@caisson/contract';
import * as z from 'zod';
import { digestPattern } from '../digest.ts';

/** The documents of an image, as OCI and Docker write them: index → manifest → config. Only what is used is read. */
const digest = z.string().regex(digestPattern, 'a digest is `sha256:` and 64 hexadecimal digits');
const size = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

const platformSchema = z.object({
  os: z.string().max(64),
  architecture: z.string().max(64),
  variant: z.string().max(64).optional(),
});

const descriptorSchema = z.object({
  mediaType: z.string().max(255).optional(),
  digest,
  size,
  platform: platformSchema.optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});

export const indexSchema = z.object({
  schemaVersion: z.literal(2),
  manifests: z.array(descriptorSchema).max(1000),
});

export const manifestSchema = z.object({
  schemaVersion: z.literal(2),
  config: descriptorSchema,
  layers: z.array(descriptorSchema),
  annotations: z.record(z.string(), z.string()).optional(),
});

export const configSchema = z.object({
  os: z.string().max(64),
  architecture: z.string().max(64),
  variant: z.string().max(64).optional(),
  config: z
    .object({
      Env: z.array(z.string().max(131_072)).max(1000).nullish(),
      WorkingDir: z.string().max(4096).nullish(),
      User: z.string().max(255).nullish(),
      Entrypoint: z.array(z.string().max(131_072)).max(1000).nullish(),
      Cmd: z.array(z.string().max(131_072)).max(1000).nullish(),
      Labels: z.record(z.string().max(4096), z.string().max(131_072)).nullish(),
    })
    .nullish(),
  rootfs: z.object({ diff_ids: z.array(digest).nullish() }),
});

export type Platform = z.infer<typeof platformSchema>;
export type Descriptor = z.infer<typeof descriptorSchema>;
export type Index = z.infer<typeof indexSchema>;
export type Manifest = z.infer<typeof manifestSchema>;
export type Config = z.infer<typeof configSchema>;

export const mediaTypes = {
  ociIndex: 'application/vnd.oci.image.index.v1+json',
  ociManifest: 'application/vnd.oci.image.manifest.v1+json',
  ociConfig: 'application/vnd.oci.image.config.v1+json',
  ociLayer: 'application/vnd.oci.image.layer.v1.tar',
  ociLayerGzip: 'application/vnd.oci.image.layer.v1.tar+gzip',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
} as const;

/** An index, a manifest, or the error that says what it is instead. */
export function readDocument(bytes: Buffer, what: string): { index: Index } | { manifest: Manifest } {
  const value = parseJson(bytes, what);
  if (typeof value === 'object' && value !== null && 'manifests' in value)
    return { index: check(indexSchema, value, what) };
  if (typeof value === 'object' && value !== null && 'schemaVersion' in value && value.schemaVersion === 1)
    throw new CaissonError('image_invalid', `${what} is in the first format of Docker, which says nothing of content`, {
      hint: 'Push it again with a builder of this decade.',
    });
  return { manifest: check(manifestSchema, value, what) };
}

export function readConfig(bytes: Buffer, what: string): Config {
  return check(configSchema, parseJson(bytes, what), what);
}

export function parseJson(bytes: Buffer, what: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new CaissonError('image_invalid', `${what} is not JSON`, { cause });
  }
}

export function check<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new CaissonError('image_invalid', `${what} is not valid: ${issue?.path.join('.')}: ${issue?.message}`);
}
