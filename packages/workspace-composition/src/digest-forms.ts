import * as z from 'zod';

/**
 * Three digests that must never stand in for one another, so each has its own form and its own type:
 * - the **blueprint digest** names an intent;
 * - the **plan digest** names a build: it is the key under which a finished image is found again;
 * - the **image digest** names content, and only it names an image. Its form is the one OCI gives it.
 */
export const blueprintDigestSchema = z
  .string()
  .regex(/^blueprint-sha256:[0-9a-f]{64}$/, 'A blueprint digest is `blueprint-sha256:` and 64 hexadecimal digits.')
  .brand<'BlueprintDigest'>();

export const planDigestSchema = z
  .string()
  .regex(/^plan-sha256:[0-9a-f]{64}$/, 'A plan digest is `plan-sha256:` and 64 hexadecimal digits.')
  .brand<'PlanDigest'>();

export const imageDigestSchema = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'An image digest is `sha256:` and 64 hexadecimal digits.')
  .brand<'ImageDigest'>();

export type BlueprintDigest = z.infer<typeof blueprintDigestSchema>;
export type PlanDigest = z.infer<typeof planDigestSchema>;
export type ImageDigest = z.infer<typeof imageDigestSchema>;
