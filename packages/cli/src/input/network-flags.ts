import { type NetworkRules, networkRulesSchema } from '@caisson/contract';
import { type Command, Option } from 'commander';
import { collect } from './key-value.ts';

export const networkModes = networkRulesSchema.shape.mode.options;

/** What `create` and `ensure` say about the network. */
export interface NetworkFlags {
  readonly network?: NetworkRules['mode'];
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly secret?: readonly string[];
}

export function withNetworkFlags(command: Command): Command {
  return command
    .addOption(new Option('--network <mode>', 'what it may reach').choices([...networkModes]))
    .option('--allow <entry>', 'domain, *.domain, address, range or preset to allow; may be repeated', collect)
    .option('--deny <entry>', 'the same to deny; may be repeated', collect)
    .option('--secret <name>', 'stored secret that is put in on the way out; may be repeated', collect);
}

/** The `runtime` of a spec with the flags in it: lists add up. Undefined when there are no flags. */
export function networkFlagsInto(
  runtime: unknown,
  { network: mode, allow, deny, secret }: NetworkFlags,
): Record<string, unknown> | undefined {
  if (mode === undefined && allow === undefined && deny === undefined && secret === undefined) return undefined;
  const rest = fieldsOf(runtime);
  const network = fieldsOf(rest.network);
  // Its short form would contradict the flag.
  const { outbound: _, ...withoutShort } = network;
  return {
    ...rest,
    network: {
      ...(mode === undefined ? network : { ...withoutShort, mode }),
      ...(allow === undefined ? {} : { allow: [...listOf(network.allow), ...allow] }),
      ...(deny === undefined ? {} : { deny: [...listOf(network.deny), ...deny] }),
      ...(secret === undefined ? {} : { secrets: [...listOf(network.secrets), ...secret] }),
    },
  };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
