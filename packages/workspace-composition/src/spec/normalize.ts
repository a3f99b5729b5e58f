import type { WorkspaceBlueprint, WorkspaceSource } from '../blueprint.ts';
import { repositoryDirectory, workspaceBlueprintVersion } from '../vocabulary.ts';
import { readAliased, readAliasedValue, reportConflict } from './aliases.ts';
import { boundedCopy, specBounds } from './bounds.ts';
import { readContext } from './context.ts';
import { Fields, shape } from './fields.ts';
import { readStartup, readSteps, type StepDefaults } from './lifecycle.ts';
import { readPackages } from './packages.ts';
import { Problems } from './problems.ts';
import { envRule, readRuntime, runtimeShape } from './runtime.ts';
import { readCustomization, readHarness, readSsh } from './settings.ts';
import { readInputs, readSource } from './sources.ts';
import { readOs, readTargetRuntime, targetShape } from './target.ts';
import { readTextMap } from './text-map.ts';

export interface NormalizeOptions {
  /** False for a profile or command that needs no repository: an absent source is then `{kind: none}`. Default true. */
  requireSource?: boolean;
  /** The presets that exist. Absent means that any name of one is taken. */
  presets?: ReadonlySet<string>;
}

/** What one pass over a spec gives: its bounded copy, and a blueprint that means something only without problems. */
export interface Normalization {
  copy: unknown;
  blueprint: WorkspaceBlueprint | undefined;
  problems: Problems;
}

const rootShape = shape(
  'a spec',
  'version',
  'source',
  'repo',
  'sources',
  'inputs',
  'harness',
  'ssh',
  'access',
  'packages',
  'tooling',
  'customization',
  'setup',
  'startup',
  'lifecycle',
  'env',
  'runtime',
  'os',
  'target',
  'context',
);
const sourcesShape = shape('`sources`', 'workspace', 'inputs');
const accessShape = shape('`access`', 'ssh');
const toolingShape = shape('`tooling`', 'packages');
const lifecycleShape = shape('`lifecycle`', 'setup', 'startup');

/**
 * More than writing out all defaults can add: at most 513 commands with a directory of 261 bytes and their keys, and a
 * few bytes for each of at most 3,000 packages and network entries. Lower would break the law that every blueprint can
 * be entered again as a spec; higher only costs time.
 */
const maxGrowthBytes = 256 * 1024;

/** Bounds first, then one reading pass that reports and resolves at the same time. */
export function normalize(input: unknown, options: NormalizeOptions = {}): Normalization {
  const problems = new Problems();
  const { copy, stringBytes } = boundedCopy(input, problems);
  const root = Fields.of(copy, '$', rootShape, problems);
  const blueprint = root === undefined ? undefined : compose(root, options);
  // Only then can what the defaults add have carried the blueprint over the bound.
  if (problems.none && stringBytes > specBounds.totalStringBytes - maxGrowthBytes) boundedCopy(blueprint, problems);
  return { copy, blueprint, problems };
}

/** The literal's order is the blueprint's field order, and so the order of its JSON. */
function compose(root: Fields, options: NormalizeOptions): WorkspaceBlueprint {
  const { problems } = root;
  const section = (key: string, expected: Parameters<typeof Fields.of>[2]) =>
    Fields.of(root.raw(key), key, expected, problems);
  const sources = section('sources', sourcesShape);
  const access = section('access', accessShape);
  const tooling = section('tooling', toolingShape);
  const lifecycle = section('lifecycle', lifecycleShape);
  const runtimeFields = section('runtime', runtimeShape);
  const target = section('target', targetShape);

  root.choice('version', [workspaceBlueprintVersion]);
  const runtime = readRuntime(runtimeFields, options.presets, problems);
  const defaults: StepDefaults = { repositoryDirectory: repositoryDirectory(runtime.workspaceRoot) };
  const steps = (fields: Fields, key: string) =>
    fields.has(key) ? readSteps(fields.raw(key), fields.pathOf(key), 'setup', defaults, problems) : [];
  const packages = (fields: Fields, key: string) =>
    fields.has(key) ? readPackages(fields.raw(key), fields.pathOf(key), problems) : [];

  return {
    version: workspaceBlueprintVersion,
    sources: {
      workspace: readWorkspace(root, sources, options.requireSource ?? true),
      inputs: readAliased(root, { field: 'inputs', section: sources, key: 'inputs' }, readInputs),
    },
    harness: readHarness(root.raw('harness'), 'harness', problems),
    access: {
      ssh: readAliasedValue(root, { field: 'ssh', section: access, key: 'ssh' }, (value, path) =>
        readSsh(value, path, problems),
      ),
    },
    tooling: { packages: readAliased(root, { field: 'packages', section: tooling, key: 'packages' }, packages) },
    customization: readCustomization(root.raw('customization'), 'customization', problems),
    lifecycle: {
      setup: readAliased(root, { field: 'setup', section: lifecycle, key: 'setup' }, steps),
      startup: readAliasedValue(root, { field: 'startup', section: lifecycle, key: 'startup' }, (value, path) =>
        readStartup(value, path, defaults, problems),
      ),
    },
    runtime: {
      env: readAliasedValue(root, { field: 'env', section: runtimeFields, key: 'env' }, (value, path) =>
        readTextMap(value, path, envRule, problems),
      ),
      ...runtime,
    },
    target: {
      os: readAliasedValue(root, { field: 'os', section: target, key: 'os' }, (value, path) =>
        readOs(value, path, problems),
      ),
      runtime: readTargetRuntime(target?.raw('runtime'), 'target.runtime', problems),
    },
    context: readContext(root.raw('context'), problems),
  };
}

/** At most one of the three spellings; none only when the caller needs no repository. */
function readWorkspace(root: Fields, sources: Fields | undefined, requireSource: boolean): WorkspaceSource {
  const spellings: { fields: Fields; key: string }[] = [];
  if (root.has('source')) spellings.push({ fields: root, key: 'source' });
  if (root.has('repo')) spellings.push({ fields: root, key: 'repo' });
  if (sources?.has('workspace')) spellings.push({ fields: sources, key: 'workspace' });

  const paths = spellings.map(({ fields, key }) => fields.pathOf(key));
  if (paths.length > 1) reportConflict(root.problems, paths[0] ?? 'source', paths);
  const missing = spellings.length === 0 && requireSource;
  const misspelt =
    ['source', 'repo', 'sources'].some((key) => root.meant(key)) ||
    sources?.meant('workspace') === true ||
    (root.has('sources') && sources === undefined);
  if (missing && !misspelt) {
    const hint = 'Write `source: <git URL>`, or `source: {kind: none}` for a sandbox without a repository.';
    root.problems.add('source', 'required', 'The spec names no source.', hint);
  }
  const read = spellings.map(({ fields, key }) => readSource(fields.raw(key), fields.pathOf(key), root.problems));
  return read[0] ?? { kind: 'none' };
}
