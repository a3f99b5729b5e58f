import * as z from 'zod';
import { checkBlueprintLaws } from './blueprint-laws.ts';
import { boundedCopy, specBounds } from './spec/bounds.ts';
import { labelsRule } from './spec/context.ts';
import { egressEntryRule } from './spec/egress-entry.ts';
import { gitRefRule } from './spec/git-ref.ts';
import { archiveUrlRule, gitUrlRule } from './spec/git-url.ts';
import { maxEgressSecrets, maxInputs, maxSteps } from './spec/limits.ts';
import * as names from './spec/names.ts';
import { absoluteDirectoryRule, localPathRule, mountPathRule, workspaceRootRule } from './spec/paths.ts';
import { Problems } from './spec/problems.ts';
import { cpusRule, diskRule, memoryRule, networkLimitRules, pidsRule, portRule, rangeSchema } from './spec/ranges.ts';
import { envRule } from './spec/runtime.ts';
import { textMapSchema, textSchema } from './spec/text-schema.ts';
import { addZodProblems } from './spec/zod-problems.ts';
import * as words from './vocabulary.ts';

/**
 * The blueprint: the one strict form of a spec that everything downstream reads.
 *
 * Vocabulary: a *source* is where the workspace's files come from; an *input* is a further source with a purpose; a
 * *step* is a command run to its end; the *foreground* is what the sandbox runs once its steps are done.
 *
 * Laws:
 * - Every default is resolved. A field that is still absent has no default here: it is somebody else's to decide.
 * - An absent field is left out, never `undefined` or `null`.
 * - One intent has one spelling, so two blueprints mean the same exactly when their canonical JSON is the same.
 * - `context` says who asked and why. It changes nothing that is built or run, and no digest.
 */
export { workspaceBlueprintVersion } from './vocabulary.ts';

const gitSourceSchema = z.strictObject({
  kind: z.literal('git'),
  /** Whose API and credentials apply; inferred from the host when the spec does not say. */
  provider: z.enum(words.sourceProviders),
  url: textSchema(gitUrlRule),
  /** Branch, tag or commit; absent means the remote's default branch. Resolved to a commit when a plan is made. */
  ref: z.exactOptional(textSchema(gitRefRule)),
  /** The name of the stored credential, never the credential. */
  authRef: z.exactOptional(textSchema(names.secretRefRule)),
  /** Brings its submodules too, and theirs. Written one way: `false` is left out. */
  submodules: z.exactOptional(z.literal(true)),
});

const folderSourceSchema = z.strictObject({
  kind: z.literal('folder'),
  /** On the machine that sends the spec. */
  path: textSchema(localPathRule),
});

/** Exactly one of `path` and `url` is set. */
const archiveSourceSchema = z.strictObject({
  kind: z.literal('archive'),
  path: z.exactOptional(textSchema(localPathRule)),
  url: z.exactOptional(textSchema(archiveUrlRule)),
});

const noSourceSchema = z.strictObject({ kind: z.literal('none') });

/** `id` is `<purpose>-<n>`; without a `mountPath` the purpose decides where it goes. */
const inputFields = {
  id: z.string(),
  purpose: z.enum(words.inputPurposes),
  mountPath: z.exactOptional(textSchema(mountPathRule)),
};

export const workspaceSourceSchema = z.discriminatedUnion('kind', [
  gitSourceSchema,
  folderSourceSchema,
  archiveSourceSchema,
  noSourceSchema,
]);

export const inputSourceSchema = z.discriminatedUnion('kind', [
  gitSourceSchema.extend(inputFields),
  folderSourceSchema.extend(inputFields),
  archiveSourceSchema.extend(inputFields),
]);

export const packageRequestSchema = z.strictObject({
  /** Symbolic: the plan maps it to the distribution's own name. */
  id: textSchema(names.packageIdRule),
  /** Exact. Absent means whatever the distribution offers. */
  version: z.exactOptional(textSchema(names.versionRule)),
});

const commandFields = {
  run: textSchema(names.commandRule),
  shell: z.enum(words.stepShells),
  workingDirectory: textSchema(absoluteDirectoryRule),
};

export const stepSchema = z.strictObject({ id: textSchema(names.stepIdRule), ...commandFields });

/** `harness` runs the blueprint's harness; with harness `none` that is nothing, and the sandbox waits to be used. */
export const foregroundSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('harness') }),
  z.strictObject({ kind: z.literal('command'), ...commandFields }),
]);

const runtimeSchema = z.strictObject({
  env: textMapSchema(envRule),
  workspaceRoot: textSchema(workspaceRootRule),
  persistence: z.enum(words.persistenceModes),
  ociRuntime: z.enum(words.ociRuntimes),
  /** Nothing but the workspace can be written, and a few folders in memory. Absent where everything can. */
  readOnlyRoot: z.exactOptional(z.literal(true)),
  network: z.strictObject({
    mode: z.enum(words.networkModes),
    allow: z.array(textSchema(egressEntryRule)).max(specBounds.arrayEntries),
    deny: z.array(textSchema(egressEntryRule)).max(specBounds.arrayEntries),
    /** What is absent is not limited. Never empty. */
    limits: z.exactOptional(
      z.strictObject({
        totalMiB: z.exactOptional(rangeSchema(networkLimitRules.totalMiB)),
        kibPerSecond: z.exactOptional(rangeSchema(networkLimitRules.kibPerSecond)),
        connections: z.exactOptional(rangeSchema(networkLimitRules.connections)),
        connectionsPerSecond: z.exactOptional(rangeSchema(networkLimitRules.connectionsPerSecond)),
      }),
    ),
    /** Names of stored secrets that are put in on the way out, each once. Never empty. */
    secrets: z.exactOptional(z.array(textSchema(names.secretRefRule)).max(maxEgressSecrets)),
  }),
  /** Each absent resource takes the default of the profile or the host. */
  resources: z.strictObject({
    cpus: z.exactOptional(rangeSchema(cpusRule)),
    memoryMiB: z.exactOptional(rangeSchema(memoryRule)),
    diskMiB: z.exactOptional(rangeSchema(diskRule)),
    pids: z.exactOptional(rangeSchema(pidsRule)),
  }),
});

const targetSchema = z.strictObject({
  os: z.strictObject({
    family: z.enum(words.osFamilies),
    mode: z.enum(words.targetModes),
    /** Only with a distribution, such as `trixie` with `debian`. */
    release: z.exactOptional(textSchema(names.releaseRule)),
    /** Only with, and always with, the family `image`. */
    reference: z.exactOptional(textSchema(names.imageReferenceRule)),
  }),
  /** `auto` or a driver's name; routing checks it against the drivers that are installed. */
  runtime: z.strictObject({ name: textSchema(names.driverNameRule), mode: z.enum(words.targetModes) }),
});

export const workspaceBlueprintSchema = z
  .strictObject({
    version: z.literal(words.workspaceBlueprintVersion),
    sources: z.strictObject({ workspace: workspaceSourceSchema, inputs: z.array(inputSourceSchema).max(maxInputs) }),
    harness: z.strictObject({
      id: z.enum(words.harnessIds),
      profile: z.exactOptional(textSchema(names.harnessProfileRule)),
      version: z.exactOptional(textSchema(names.versionRule)),
    }),
    access: z.strictObject({
      ssh: z.strictObject({
        enabled: z.boolean(),
        listenPort: rangeSchema(portRule),
        /** The name of the stored public keys. */
        authorizedKeysRef: z.exactOptional(textSchema(names.secretRefRule)),
      }),
    }),
    /** At most one entry per id, in order of first mention. */
    tooling: z.strictObject({ packages: z.array(packageRequestSchema).max(specBounds.arrayEntries) }),
    customization: z.strictObject({
      shell: z.enum(words.loginShells),
      dotfilesManager: z.enum(words.dotfilesManagers),
      dotfilesTarget: z.enum(words.dotfilesTargets),
      applyDotfiles: z.boolean(),
      dotfilesBootstrap: z.boolean(),
      bootstrapCommand: z.exactOptional(textSchema(names.commandRule)),
    }),
    lifecycle: z.strictObject({
      setup: z.array(stepSchema).max(maxSteps),
      startup: z.strictObject({ steps: z.array(stepSchema).max(maxSteps), foreground: foregroundSchema }),
    }),
    runtime: runtimeSchema,
    target: targetSchema,
    context: z.strictObject({
      labels: textMapSchema(labelsRule),
      issue: z.exactOptional(textSchema(names.contextLinkRule)),
      pullRequest: z.exactOptional(textSchema(names.contextLinkRule)),
      requestedBy: z.exactOptional(textSchema(names.contextLinkRule)),
    }),
  })
  .superRefine(checkBlueprintLaws);

export type WorkspaceBlueprint = z.infer<typeof workspaceBlueprintSchema>;
export type WorkspaceSource = z.infer<typeof workspaceSourceSchema>;
export type InputSource = z.infer<typeof inputSourceSchema>;
export type PackageRequest = z.infer<typeof packageRequestSchema>;
export type Step = z.infer<typeof stepSchema>;
export type Foreground = z.infer<typeof foregroundSchema>;

/** For a blueprint that comes back from storage or over a wire. Accepts no short forms. Throws `SpecError`. */
export function parseWorkspaceBlueprint(input: unknown): WorkspaceBlueprint {
  const problems = new Problems();
  const { copy } = boundedCopy(input, problems);
  if (!problems.none) throw problems.toError();
  const result = workspaceBlueprintSchema.safeParse(copy);
  if (result.success) return result.data;
  addZodProblems(result.error.issues, copy, problems);
  throw problems.toError();
}
