import * as z from 'zod';
import * as words from '../vocabulary.ts';
import { cpusRule, diskRule, memoryRule, networkLimitRules, pidsRule, portRule, rangeSchema } from './ranges.ts';

/**
 * Every form a spec may take, as a shape: for types, documentation and JSON Schema. It knows which keys, types and
 * words exist; the reader knows, beyond that, which texts are valid and what must not stand together.
 */
const text = z.string();
const optional = z.exactOptional;

const git = {
  kind: z.literal('git'),
  provider: optional(z.enum(words.sourceProviders)),
  url: text,
  ref: optional(text),
  authRef: optional(text),
  submodules: optional(z.boolean().describe('Bring its submodules too, and theirs.')),
};
const folder = { kind: z.literal('folder'), path: text };
const archive = { kind: z.literal('archive'), path: optional(text), url: optional(text) };
const input = { id: optional(text), purpose: z.enum(words.inputPurposes), mountPath: optional(text) };

const source = z
  .union([
    text.describe('A git URL.'),
    z.strictObject(git),
    z.strictObject(folder),
    z.strictObject(archive).describe('Exactly one of `path` and `url`.'),
    z.strictObject({ kind: z.literal('none') }),
  ])
  .describe('Where the files of the workspace come from.');

const inputs = z
  .array(
    z.union([
      z.strictObject({ ...input, ...git }),
      z.strictObject({ ...input, ...folder }),
      z.strictObject({ ...input, ...archive }),
    ]),
  )
  .describe('Further sources, each with a purpose.');

const harness = z
  .union([
    z.enum(words.harnessIds),
    z.strictObject({ id: z.enum(words.harnessIds), profile: optional(text), version: optional(text) }),
  ])
  .describe('The coding agent that works in the sandbox.');

const ssh = z
  .union([
    z.boolean(),
    z.strictObject({
      enabled: optional(z.boolean()),
      listenPort: optional(rangeSchema(portRule)),
      authorizedKeysRef: optional(text),
    }),
  ])
  .describe('SSH access. A port or keys imply that it is enabled.');

const packageEntry = z.union([text, z.strictObject({ id: text, version: optional(text) })]);
const packages = z
  .union([packageEntry, z.array(packageEntry)])
  .describe('Packages to install: `name`, `name@version` or `{id, version}`.');

const command = { run: text, shell: optional(z.enum(words.stepShells)), workingDirectory: optional(text) };
const step = z.union([text, z.strictObject({ id: optional(text), ...command })]);
const steps = z.union([step, z.array(step)]);
const setup = steps.describe('Commands that become part of the image.');

const startup = z
  .union([
    text.describe('The foreground command.'),
    z.array(step).describe('Steps before the harness starts.'),
    z.strictObject({
      steps: optional(steps),
      foreground: optional(
        z.union([
          text,
          z.strictObject({ kind: z.literal('harness') }),
          z.strictObject({ kind: optional(z.literal('command')), ...command }),
        ]),
      ),
    }),
  ])
  .describe('What runs when a sandbox starts.');

const env = z.record(text, text).describe('Environment variables.');

const network = z
  .strictObject({
    mode: optional(z.enum(words.networkModes)),
    outbound: optional(z.boolean().describe('Short for mode `open` or `off`.')),
    allow: optional(z.array(text)),
    deny: optional(z.array(text)),
    limits: optional(
      z.strictObject({
        totalMiB: optional(rangeSchema(networkLimitRules.totalMiB)),
        kibPerSecond: optional(rangeSchema(networkLimitRules.kibPerSecond)),
        connections: optional(rangeSchema(networkLimitRules.connections)),
        connectionsPerSecond: optional(rangeSchema(networkLimitRules.connectionsPerSecond)),
      }),
    ),
    secrets: optional(z.array(text).describe('Names of stored secrets that are put in on the way out.')),
  })
  .describe('Entries are domains, `*.domain`, addresses, CIDR ranges or presets.');

const runtime = z.strictObject({
  env: optional(env),
  workspaceRoot: optional(text),
  persistence: optional(z.enum(words.persistenceModes)),
  ociRuntime: optional(z.enum(words.ociRuntimes)),
  readOnlyRoot: optional(z.boolean().describe('Nothing but the workspace can be written, and what is in memory.')),
  network: optional(network),
  resources: optional(
    z.strictObject({
      cpus: optional(rangeSchema(cpusRule)),
      memoryMiB: optional(rangeSchema(memoryRule)),
      diskMiB: optional(rangeSchema(diskRule)),
      pids: optional(rangeSchema(pidsRule)),
    }),
  ),
});

const customization = z.strictObject({
  shell: optional(z.enum(words.loginShells)),
  dotfilesManager: optional(z.enum(words.dotfilesManagers)),
  dotfilesTarget: optional(z.enum(words.dotfilesTargets)),
  applyDotfiles: optional(z.boolean()),
  dotfilesBootstrap: optional(z.boolean()),
  bootstrapCommand: optional(text),
});

const mode = optional(z.enum(words.targetModes));
const os = z
  .union([
    z.enum(words.osFamilies),
    z.strictObject({ family: z.enum(words.osFamilies), mode, release: optional(text), reference: optional(text) }),
  ])
  .describe('The operating system of the image.');
const target = z.strictObject({
  os: optional(os),
  runtime: optional(z.union([text, z.strictObject({ name: text, mode })]).describe('`auto` or a driver.')),
});

const context = z.strictObject({
  labels: optional(z.record(text, text)),
  issue: optional(text),
  pullRequest: optional(text),
  requestedBy: optional(text),
});

export const userWorkspaceSpecShape = z
  .strictObject({
    version: optional(z.literal(words.workspaceBlueprintVersion)),
    source: optional(source),
    repo: optional(source),
    sources: optional(z.strictObject({ workspace: optional(source), inputs: optional(inputs) })),
    inputs: optional(inputs),
    harness: optional(harness),
    ssh: optional(ssh),
    access: optional(z.strictObject({ ssh: optional(ssh) })),
    packages: optional(packages),
    tooling: optional(z.strictObject({ packages: optional(packages) })),
    customization: optional(customization),
    setup: optional(setup),
    startup: optional(startup),
    lifecycle: optional(z.strictObject({ setup: optional(setup), startup: optional(startup) })),
    env: optional(env),
    runtime: optional(runtime),
    os: optional(os),
    target: optional(target),
    context: optional(context),
  })
  .describe('A workspace spec. A field and its alias in a section must not both be set.');

export type UserWorkspaceSpec = z.infer<typeof userWorkspaceSpecShape>;
