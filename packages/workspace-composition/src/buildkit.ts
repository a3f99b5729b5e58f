import * as z from 'zod';
import { imageDigestSchema, planDigestSchema } from './digest-forms.ts';
import { labelsRule } from './spec/context.ts';
import { gitUrlRule } from './spec/git-url.ts';
import * as names from './spec/names.ts';
import { absoluteDirectoryRule, localPathRule, mountPathRule } from './spec/paths.ts';
import { envRule } from './spec/runtime.ts';
import { matching, type TextRule } from './spec/text.ts';
import { textMapSchema, textSchema } from './spec/text-schema.ts';
import * as words from './vocabulary.ts';

/**
 * The plan: a blueprint resolved against an operating system. What was a wish is a fact here: the base is pinned by
 * digest, every ref is a commit, every package has its distribution's name.
 *
 * Laws:
 * - Two equal plans build the same image, so the plan's digest is the build's cache key. Nothing in a plan depends on
 *   the time, the machine or the person that made it.
 * - A plan holds no secret and no reference to one.
 * - `repository` is there only with `steps`, which need it; see repository-placement.ts.
 */
export const resolvedImagePlanVersion = '1';

const commitSchema = z
  .string()
  .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'A commit is its full hexadecimal name, in small letters.');

/** Of bytes that are not an image: an archive, or the files of a folder. */
const contentDigestSchema = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'A digest is `sha256:` and 64 hexadecimal digits.');

export const platformSchema = z.strictObject({
  os: z.literal('linux'),
  /** As OCI and Go name it. */
  architecture: z.enum(['amd64', 'arm64', 'arm', 'riscv64', 'ppc64le', 's390x']),
});

const pinnedBaseSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.enum(['registry', 'oci-layout', 'oci-archive']),
    reference: textSchema(names.imageReferenceRule),
    digest: imageDigestSchema,
  }),
  /** A distribution's root file system as a plain archive; the digest is of the archive's bytes. */
  z.strictObject({
    kind: z.literal('rootfs-archive'),
    reference: textSchema(names.imageReferenceRule),
    digest: contentDigestSchema,
  }),
]);

const nativeNameRule: TextRule = { ...names.imageReferenceRule, noun: 'A native package name', maxBytes: 256 };
const argumentRule: TextRule = { ...names.envValueRule, noun: 'An argument' };
const contextPathRule: TextRule = {
  noun: 'A path',
  maxBytes: 1_024,
  check: matching(/^(?!-|\/|(?:.*\/)?\.\.(?:\/|$))/, 'a path within the build context'),
};
const userNameRule: TextRule = { ...names.stepIdRule, noun: 'A user name', maxBytes: 32 };

const plannedPackageSchema = z.strictObject({
  id: textSchema(names.packageIdRule),
  nativeName: textSchema(nativeNameRule),
  version: z.exactOptional(textSchema(names.versionRule)),
  packageManager: z.enum(['apt', 'dnf', 'pacman', 'nix', 'apk']),
});

const plannedStepSchema = z.strictObject({
  id: textSchema(names.stepIdRule),
  run: textSchema(names.commandRule),
  shell: z.enum(words.stepShells),
  workingDirectory: textSchema(absoluteDirectoryRule),
  user: textSchema(userNameRule),
});

const plannedHarnessSchema = z.strictObject({
  id: z.enum(words.harnessIds).exclude(['none']),
  version: textSchema(names.versionRule),
  install: z.array(plannedStepSchema),
  /** An argument vector, not a shell line. */
  launch: z.array(textSchema(argumentRule)).min(1),
});

const plannedUserSchema = z.strictObject({
  name: textSchema(userNameRule),
  uid: z.int().min(0).max(65_534),
  gid: z.int().min(0).max(65_534),
  home: textSchema(absoluteDirectoryRule),
  shell: textSchema(absoluteDirectoryRule),
});

const inputFields = {
  id: textSchema(names.stepIdRule),
  purpose: z.enum(words.inputPurposes),
  mountPath: z.exactOptional(textSchema(mountPathRule)),
};

/** The commit names those of its submodules. */
const plannedRepository = {
  url: textSchema(gitUrlRule),
  commit: commitSchema,
  submodules: z.exactOptional(z.literal(true)),
};

/** What the workspace has in it: a repository at a commit, or files that are named by their content. */
const plannedWorkspaceSchema = z.union([
  z.strictObject({ ...plannedRepository, path: textSchema(mountPathRule) }),
  z.strictObject({
    kind: z.enum(['folder', 'archive']),
    digest: contentDigestSchema,
    path: textSchema(mountPathRule),
  }),
]);

const plannedInputSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...inputFields, kind: z.literal('git'), ...plannedRepository }),
  z.strictObject({ ...inputFields, kind: z.literal('folder'), digest: contentDigestSchema }),
  z.strictObject({ ...inputFields, kind: z.literal('archive'), digest: contentDigestSchema }),
]);

export const resolvedImagePlanSchema = z
  .strictObject({
    version: z.literal(resolvedImagePlanVersion),
    platform: platformSchema,
    os: z.strictObject({
      family: z.enum(words.osFamilies).exclude(['auto', 'host']),
      release: z.exactOptional(textSchema(names.releaseRule)),
    }),
    base: pinnedBaseSchema,
    packages: z.array(plannedPackageSchema),
    harness: z.exactOptional(plannedHarnessSchema),
    users: z.array(plannedUserSchema),
    env: textMapSchema(envRule),
    /** The blueprint's setup, in order. */
    steps: z.array(plannedStepSchema),
    inputs: z.array(plannedInputSchema),
    labels: textMapSchema(labelsRule),
    repository: z.exactOptional(plannedWorkspaceSchema),
    /** What setup steps leave below it is the user's. There only with `steps`. */
    workspaceRoot: z.exactOptional(textSchema(absoluteDirectoryRule)),
  })
  .superRefine((plan, context) => {
    if (plan.repository === undefined || plan.steps.length > 0) return;
    const message = 'Without setup steps the repository is fetched at launch and is not part of the plan.';
    context.addIssue({ code: 'custom', path: ['repository'], message, params: { code: 'conflict' } });
  });

/** What a builder hands to BuildKit for one plan. */
export const buildkitBuildSpecSchema = z.strictObject({
  version: z.literal(resolvedImagePlanVersion),
  planDigest: planDigestSchema,
  platform: platformSchema,
  frontend: z.literal('dockerfile.v0'),
  dockerfile: z.string().min(1),
  /** Files of the build context that are made from the plan, by their path within it. */
  files: z.array(
    z.strictObject({ path: textSchema(contextPathRule), content: z.string(), mode: z.int().min(0).max(0o7777) }),
  ),
  /** Names of secrets mounted during single steps. Their values go to BuildKit's session and nowhere else. */
  secrets: z.array(textSchema(names.secretRefRule)),
  labels: textMapSchema(labelsRule),
  /** The time stamp of everything built: one plan, one content, whenever it is built. */
  sourceDateEpoch: z.int().min(0),
  output: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('oci-archive'), path: textSchema(localPathRule) }),
    z.strictObject({ kind: z.literal('registry'), reference: textSchema(names.imageReferenceRule) }),
  ]),
});

export type Platform = z.infer<typeof platformSchema>;
export type ResolvedImagePlan = z.infer<typeof resolvedImagePlanSchema>;
export type BuildkitBuildSpec = z.infer<typeof buildkitBuildSpecSchema>;
