import { z } from 'zod';
import { secretNameSchema } from './secret-shape.ts';

export const imageDigestSchema = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'must be `sha256:` and 64 hexadecimal digits');

/** Longer is no reference: hosts end at 253 characters, repositories at 255, tags at 128. */
export const imageReferenceSchema = z
  .string()
  .min(1)
  .max(800)
  .regex(/^[A-Za-z0-9[]/, 'must begin with a letter or a digit')
  .describe('host/name:tag or host/name@sha256:…');

const secret = secretNameSchema
  .optional()
  .describe(
    'a secret of your project, bound to the host of the registry, whose value is user:password or a token; ' +
      "without it the server's own credentials are used",
  );

/** An image as the caller knows it: by its own sandboxes and snapshots, or, for the operator, as it is kept. */
export const imageSchema = z.object({
  digest: imageDigestSchema,
  name: z.string().nullable().describe('what it was asked for by: `debian bookworm`, or a reference'),
  sizeBytes: z.number().min(0).nullable().describe('of its unpacked layers; null where a backend keeps it'),
  layers: z.array(z.string()).describe('digests of the unpacked layers, lowest first'),
  sandboxes: z.int().min(0).describe('of yours that are not destroyed'),
  snapshots: z.int().min(0).describe('of yours'),
  usedAt: z.string().nullable().describe('for the operator: when it was last used'),
  madeAt: z.string().nullable().describe('for the operator: when it was made or fetched'),
  isKept: z.boolean().nullable().describe('for the operator: it was pulled on purpose, and stays until it is deleted'),
});

export const pullImageSchema = z.strictObject({ reference: imageReferenceSchema, secret });

export const publishImageSchema = z.strictObject({
  to: imageReferenceSchema.describe('host/name:tag'),
  compression: z.enum(['gzip', 'none']).default('gzip'),
  labels: z
    .record(z.string().min(1).max(200), z.string().max(4096))
    .refine((labels) => Object.keys(labels).length <= 64, 'must be at most 64')
    .optional(),
  secret,
});

export const publishedImageSchema = z.object({
  reference: z.string().describe('where it is now, with its tag'),
  digest: imageDigestSchema.describe('of its manifest there'),
  sizeBytes: z.number().min(0).describe('of its packed layers'),
  sentBytes: z.number().min(0),
  layers: z.object({
    there: z.int().min(0).describe('that the registry had'),
    mounted: z.int().min(0).describe('that it took over from another of its repositories'),
    sent: z.int().min(0),
  }),
});

export const collectImagesSchema = z.strictObject({
  unusedSeconds: z
    .int()
    .min(0)
    .max(10 * 365 * 86_400)
    .optional()
    .describe('how long an image stays that nothing uses; a week when it is not given'),
});

export const collectedImagesSchema = z.object({
  images: z.array(imageDigestSchema),
  layers: z.int().min(0),
  blobs: z.int().min(0).describe('layers that were packed for registries'),
  backendImages: z.int().min(0).describe('that engines were given'),
  freedBytes: z.number().min(0),
});

export const manifestSchema = z.object({
  reference: z.string(),
  digest: z.string().nullable().describe('null where only the head was asked for and the registry does not tell'),
  mediaType: z.string(),
  sizeBytes: z.number().min(0).nullable(),
  manifest: z.unknown().describe('the document; null where only the head was asked for'),
});

export const tagPageSchema = z.object({ items: z.array(z.string()), next: z.string().nullable() });

export const registryExtensionSchema = z.object({
  name: z.string(),
  url: z.string().nullable(),
  description: z.string().nullable(),
  endpoints: z.array(z.string()),
});

/** What is told while an image travels. */
export interface ImageProgress {
  readonly text: string;
}

export type Image = z.infer<typeof imageSchema>;
export type PublishedImage = z.infer<typeof publishedImageSchema>;
export type CollectedImages = z.infer<typeof collectedImagesSchema>;
export type RegistryManifest = z.infer<typeof manifestSchema>;
export type RegistryExtension = z.infer<typeof registryExtensionSchema>;
