import * as z from 'zod';
import type { WorkspaceBlueprint } from './blueprint.ts';
import { type Platform, platformSchema } from './buildkit.ts';
import { blueprintDigestSchema, imageDigestSchema, planDigestSchema } from './digest-forms.ts';

/**
 * The contract between a blueprint and whoever can turn it into something that runs.
 *
 * Laws:
 * - `supports` is synchronous and looks at the blueprint alone: no network, no disk. It names everything that stands in
 *   the way at once, in a closed vocabulary, each with the path of the field that asks for it.
 * - `compile` is called only after `supports` said ok, and returns at least one artifact.
 *
 *     const support = executor.supports({ blueprint });
 *     if (support.ok) artifacts = await executor.compile({ blueprint, platform });
 */
export const supportFailureReasons = [
  'unsupported-os',
  'unsupported-harness',
  'unsupported-package',
  'unsupported-access-mode',
  'unsupported-runtime-requirement',
] as const;

export const supportFailureSchema = z.strictObject({
  reason: z.enum(supportFailureReasons),
  /** Of the blueprint's field, such as `tooling.packages[0]`. */
  path: z.string().min(1),
  message: z.string().min(1),
});

export const supportResultSchema = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true) }),
  z.strictObject({ ok: z.literal(false), failures: z.array(supportFailureSchema).min(1) }),
]);

const sizeBytes = z.exactOptional(z.int().min(0));

/** An image: immutable, named by its digest. `location` says where it lies now and may change. */
export const ociImageArtifactSchema = z.strictObject({
  kind: z.literal('oci-image'),
  digest: imageDigestSchema,
  platform: platformSchema,
  location: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.enum(['oci-layout', 'oci-archive']), path: z.string().min(1) }),
    z.strictObject({ kind: z.literal('registry'), reference: z.string().min(1) }),
  ]),
  sizeBytes,
});

/** A set of paths that is complete in itself, as Nix builds them. */
export const filesystemClosureArtifactSchema = z.strictObject({
  kind: z.literal('filesystem-closure'),
  root: z.string().min(1),
  paths: z.array(z.string().min(1)).min(1),
  sizeBytes,
});

/** A document that describes another artifact, such as an OCI index. */
export const manifestArtifactSchema = z.strictObject({
  kind: z.literal('manifest'),
  mediaType: z.string().min(1),
  content: z.string().min(1),
});

/** What went into a build, for the record of the attempt. */
export const metadataArtifactSchema = z.strictObject({
  kind: z.literal('metadata'),
  executor: z.string().min(1),
  blueprintDigest: blueprintDigestSchema,
  planDigest: planDigestSchema,
  harness: z.exactOptional(z.strictObject({ id: z.string().min(1), version: z.string().min(1) })),
  packages: z.array(
    z.strictObject({ id: z.string().min(1), nativeName: z.string().min(1), version: z.string().min(1) }),
  ),
});

export const buildArtifactSchema = z.discriminatedUnion('kind', [
  ociImageArtifactSchema,
  filesystemClosureArtifactSchema,
  manifestArtifactSchema,
  metadataArtifactSchema,
]);

/** What `compile` returns: never nothing. */
export const buildArtifactsSchema = z.tuple([buildArtifactSchema], buildArtifactSchema);

export type SupportFailureReason = (typeof supportFailureReasons)[number];
export type SupportFailure = z.infer<typeof supportFailureSchema>;
export type SupportResult = z.infer<typeof supportResultSchema>;
export type BuildArtifact = z.infer<typeof buildArtifactSchema>;
export type BuildArtifacts = z.infer<typeof buildArtifactsSchema>;

export interface SupportRequest {
  blueprint: WorkspaceBlueprint;
}

export interface CompileRequest {
  blueprint: WorkspaceBlueprint;
  platform: Platform;
  /** Aborting stops the build as soon as it can be stopped cleanly. */
  signal?: AbortSignal;
}

export interface OsExecutor {
  /** Stable and unique among executors: it is written into the record of every attempt. */
  readonly id: string;
  supports(request: SupportRequest): SupportResult;
  compile(request: CompileRequest): Promise<BuildArtifacts>;
}
