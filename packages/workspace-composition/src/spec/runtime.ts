import type { WorkspaceBlueprint } from '../blueprint.ts';
import { defaultWorkspaceRoot, ociRuntimes, persistenceModes } from '../vocabulary.ts';
import { Fields, shape } from './fields.ts';
import { maxEnvEntries } from './limits.ts';
import { envNameRule, envValueRule } from './names.ts';
import { readNetwork } from './network.ts';
import { workspaceRootRule } from './paths.ts';
import type { Problems } from './problems.ts';
import { cpusRule, diskRule, memoryRule, type NumberRule, pidsRule } from './ranges.ts';
import type { TextMapRule } from './text-map.ts';

type Runtime = WorkspaceBlueprint['runtime'];
type Resources = Runtime['resources'];

export const runtimeShape = shape(
  '`runtime`',
  'env',
  'workspaceRoot',
  'persistence',
  'ociRuntime',
  'readOnlyRoot',
  'network',
  'resources',
);
const resourcesShape = shape('`resources`', 'cpus', 'memoryMiB', 'diskMiB', 'pids');

export const envRule: TextMapRule = { key: envNameRule, value: envValueRule, maxEntries: maxEnvEntries };

const resourceRules: readonly [keyof Resources, NumberRule][] = [
  ['cpus', cpusRule],
  ['memoryMiB', memoryRule],
  ['diskMiB', diskRule],
  ['pids', pidsRule],
];

/** Everything of `runtime` except `env`, which has an alias and is read with the other aliased fields. */
export function readRuntime(
  fields: Fields | undefined,
  presets: ReadonlySet<string> | undefined,
  problems: Problems,
): Omit<Runtime, 'env'> {
  return {
    workspaceRoot: fields?.text('workspaceRoot', workspaceRootRule) ?? defaultWorkspaceRoot,
    persistence: fields?.choice('persistence', persistenceModes) ?? 'ephemeral',
    ociRuntime: fields?.choice('ociRuntime', ociRuntimes) ?? 'auto',
    ...(fields?.flag('readOnlyRoot') === true ? { readOnlyRoot: true as const } : {}),
    network: readNetwork(fields?.raw('network'), presets, problems),
    resources: readResources(fields?.raw('resources'), problems),
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
