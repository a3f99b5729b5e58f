import type { WorkspaceBlueprint } from '../blueprint.ts';
import { networkModes } from '../vocabulary.ts';
import { nearest } from './did-you-mean.ts';
import { egressEntryRule } from './egress-entry.ts';
import { Fields, readText, shape } from './fields.ts';
import { maxEgressSecrets } from './limits.ts';
import { secretRefRule } from './names.ts';
import type { Problems } from './problems.ts';
import { networkLimitRules } from './ranges.ts';

type Network = WorkspaceBlueprint['runtime']['network'];
type Limits = NonNullable<Network['limits']>;

const networkShape = shape('`network`', 'mode', 'outbound', 'allow', 'deny', 'limits', 'secrets');
const limitNames = Object.keys(networkLimitRules) as (keyof typeof networkLimitRules)[];
const limitsShape = shape('`limits`', ...limitNames);
const presetPrefix = 'preset:';

/**
 * `outbound: true` is short for mode `open`, `false` for `off`. Whoever lists what is allowed and says no mode means that
 * the rest is not: an allowlist, as a port implies that SSH is enabled.
 *
 * Limits and secrets that are not named stay absent, and so do empty ones: none has one spelling.
 */
export function readNetwork(value: unknown, presets: ReadonlySet<string> | undefined, problems: Problems): Network {
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
  const entry = (text: unknown, path: string) => {
    const read = readText(text, path, egressEntryRule, problems);
    if (read !== undefined && presets !== undefined) checkPreset(read, path, presets, problems);
    return read;
  };
  const allow = fields?.list('allow', entry) ?? [];
  const implied = allow.length > 0 && outbound === undefined ? 'allowlist' : 'open';
  const network: Network = {
    mode: mode ?? (outbound === false ? 'off' : implied),
    allow,
    deny: fields?.list('deny', entry) ?? [],
  };
  const limits = readLimits(fields?.raw('limits'), problems);
  if (Object.keys(limits).length > 0) network.limits = limits;
  const secret = (text: unknown, path: string) => readText(text, path, secretRefRule, problems);
  const secrets = new Set(fields?.list('secrets', secret, maxEgressSecrets));
  if (secrets.size > 0) network.secrets = [...secrets];
  return network;
}

function readLimits(value: unknown, problems: Problems): Limits {
  const fields = Fields.of(value, 'runtime.network.limits', limitsShape, problems);
  const limits: Limits = {};
  for (const name of limitNames) {
    const amount = fields?.number(name, networkLimitRules[name]);
    if (amount !== undefined) limits[name] = amount;
  }
  return limits;
}

function checkPreset(entry: string, path: string, presets: ReadonlySet<string>, problems: Problems): void {
  if (!entry.startsWith(presetPrefix)) return;
  const name = entry.slice(presetPrefix.length);
  if (presets.has(name)) return;
  // The entry's pattern leaves nothing in the name that would have to be escaped.
  const near = problems.full ? undefined : nearest(name, presets);
  const hint = near === undefined ? `Presets are ${[...presets].join(', ')}.` : `did you mean \`${near}\`?`;
  problems.add(path, 'invalid_value', `There is no preset \`${name}\`.`, hint);
}
