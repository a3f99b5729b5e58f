import type { WorkspaceBlueprint } from '../blueprint.ts';
import { defaultWorkspaceRoot, networkModes, ociRuntimes, persistenceModes } from '../vocabulary.ts';
import { egressEntryRule } from './egress-entry.ts';
import { Fields, readText, shape } from './fields.ts';
import { maxEnvEntries } from './limits.ts';
import { envNameRule, envValueRule } from './names.ts';
import { workspaceRootRule } from './paths.ts';
import type { Problems } from './problems.ts';
import { cpusRule, diskRule, memoryRule, type NumberRule, pidsRule } from './ranges.ts';
import type { TextMapRule } from './text-map.ts';

type Runtime = WorkspaceBlueprint['runtime'];
type Network = Runtime['network'];
type Resources = Runtime['resources'];

export const runtimeShape = shape(
  '`runtime`',
  'env',
  'workspaceRoot',
  'persistence',
  'ociRuntime',
  'network',
  'resources',
);
const networkShape = shape('`network`', 'mode', 'outbound', 'allow', 'deny');
const resourcesShape = shape('`resources`', 'cpus', 'memoryMiB', 'diskMiB', 'pids');

export const envRule: TextMapRule = { key: envNameRule, value: envValueRule, maxEntries: maxEnvEntries };

const resourceRules: readonly [keyof Resources, NumberRule][] = [
  ['cpus', cpusRule],
  ['memoryMiB', memoryRule],
  ['diskMiB', diskRule],
  ['pids', pidsRule],
];

/** Everything of `runtime` except `env`, which has an alias and is read with the other aliased fields. */
export function readRuntime(fields: Fields | undefined, problems: Problems): Omit<Runtime, 'env'> {
  return {
    workspaceRoot: fields?.text('workspaceRoot', workspaceRootRule) ?? defaultWorkspaceRoot,
    persistence: fields?.choice('persistence', persistenceModes) ?? 'ephemeral',
    ociRuntime: fields?.choice('ociRuntime', ociRuntimes) ?? 'auto',
    network: readNetwork(fields?.raw('network'), problems),
    resources: readResources(fields?.raw('resources'), problems),
  };
}

/**
 * `outbound: true` is short for mode `open`, `false` for `off`. Whoever lists what is allowed and says no mode means that
 * the rest is not: an allowlist, as a port implies that SSH is enabled.
 */
function readNetwork(value: unknown, problems: Problems): Network {
  const fields = Fields.of(value, 'runtime.network', networkShape, problems);
  const mode = fields?.choice('mode', networkModes);
  const outbound = fields?.flag('outbound');
  if (fields?.has('mode') && fields.has('outbound')) {
    problems.add(
      'runtime.network.mode',
      'conflict',
      '`mode` and its short form `outbound` are both set.',
      'Keep `mode`.',
    );
  }
  const entry = (text: unknown, path: string) => readText(text, path, egressEntryRule, problems);
  const allow = fields?.list('allow', entry) ?? [];
  const implied = allow.length > 0 && outbound === undefined ? 'allowlist' : 'open';
  return {
    mode: mode ?? (outbound === false ? 'off' : implied),
    allow,
    deny: fields?.list('deny', entry) ?? [],
  };
}

/** A resource that is not named stays absent: its default belongs to the profile and the host. */
function readResources(value: unknown, problems: Problems): Resources {
  const fields = Fields.of(value, 'runtime.resources', resourcesShape, problems);
  const resources: Resources = {};
  for (const [name, rule] of resourceRules) {
    const amount = fields?.number(name, rule);
    if (amount !== undefined) resources[name] = amount;
  }
  return resources;
}
