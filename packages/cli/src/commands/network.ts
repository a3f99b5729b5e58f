import type { ChangeNetwork, NetworkLimits, SandboxNetwork } from '@caisson/contract';
import type { SandboxHandle } from '@caisson/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { collect, parseCount } from '../input/key-value.ts';
import { networkModes } from '../input/network-flags.ts';
import { modeNote, networkText, presetTable } from '../output/network-text.ts';

interface SetOptions extends ServerChoice, NetworkLimits {
  readonly mode?: SandboxNetwork['mode'];
  readonly allow?: string[] | false;
  readonly deny?: string[] | false;
  readonly secret?: string[] | false;
  readonly totalMib?: number;
  readonly kibPerSecond?: number;
  readonly limits: boolean;
  readonly revision?: number;
}

const what = 'id or name';

export function addNetwork(parent: Command, context: CommandContext): void {
  const group = parent.command('network').description('what a sandbox may reach; changes hold at once');

  withServer(group.command('get').description('its rules as they hold now'))
    .argument('<sandbox>', what)
    .action(async (ref: string, options: ServerChoice) => {
      const network = await (await find(context, ref, options)).network.get();
      context.screen.result(network, () => networkText(network));
    });

  addSet(group, context);
  addEntries(group, context, 'allow', 'allow entries, and deny them no longer');
  addEntries(group, context, 'deny', 'deny entries, which is stronger than allowing them');
  addEntries(group, context, 'remove', 'take entries off both lists');

  withServer(group.command('presets').description('names that stand for the hosts of a well-known service')).action(
    async (options: ServerChoice) => {
      const items = await (await context.connect(options)).networkPresets();
      context.screen.result({ items }, () => presetTable(items));
    },
  );
}

function addSet(group: Command, context: CommandContext): void {
  withServer(group.command('set').description('change rules; a list that is given takes the place of the old one'))
    .argument('<sandbox>', what)
    .addOption(new Option('--mode <mode>', 'what it may reach').choices([...networkModes]))
    .option('--allow <entry>', 'domain, *.domain, address, range or preset to allow; may be repeated', collect)
    .option('--no-allow', 'an empty list of what is allowed')
    .option('--deny <entry>', 'the same to deny; may be repeated', collect)
    .option('--no-deny', 'an empty list of what is denied')
    .option('--secret <name>', 'stored secret that is put in on the way out; may be repeated', collect)
    .option('--no-secret', 'no secrets')
    .option('--total-mib <count>', 'how much may go out and come in, in its whole life', parseCount)
    .option('--kib-per-second <count>', 'how much in any second', parseCount)
    .option('--connections <count>', 'how many connections at the same time', parseCount)
    .option('--connections-per-second <count>', 'how many new connections and requests in any second', parseCount)
    .option('--no-limits', 'none of these four but those that are given')
    .option('--revision <number>', 'only when this is the revision of its rules', parseRevision)
    .action(async (ref: string, options: SetOptions) => {
      const sandbox = await find(context, ref, options);
      const network = await sandbox.network.set(await changeOf(sandbox, options));
      context.screen.result(network, () => networkText(network));
    });
}

function addEntries(group: Command, context: CommandContext, verb: 'allow' | 'deny' | 'remove', text: string): void {
  withServer(group.command(verb).description(text))
    .argument('<sandbox>', what)
    .argument('<entry...>', 'domain, *.domain, address, range or preset; the first two with a port too')
    .action(async (ref: string, entries: string[], options: ServerChoice) => {
      const network = await (await find(context, ref, options)).network[verb](entries);
      context.screen.result(network, () => networkText(network));
      const note = verb === 'allow' ? modeNote(network.mode, ref) : undefined;
      if (note !== undefined) context.screen.note(note);
    });
}

/** Lists are replaced, limits are laid over those that hold: then the change is one of that revision only. */
async function changeOf(sandbox: SandboxHandle, options: SetOptions): Promise<ChangeNetwork> {
  const { mode, allow, deny, secret, revision } = options;
  const lists = {
    ...(mode === undefined ? {} : { mode }),
    ...(allow === undefined ? {} : { allow: allow || [] }),
    ...(deny === undefined ? {} : { deny: deny || [] }),
    ...(secret === undefined ? {} : { secrets: secret || [] }),
    ...(revision === undefined ? {} : { revision }),
  };
  const limits = limitsOf(options);
  if (!options.limits) return { ...lists, limits };
  if (Object.keys(limits).length === 0) return lists;
  const present = await sandbox.network.get();
  return { revision: present.revision, ...lists, limits: { ...present.limits, ...limits } };
}

function limitsOf({ totalMib, kibPerSecond, connections, connectionsPerSecond }: SetOptions): NetworkLimits {
  return {
    ...(totalMib === undefined ? {} : { totalMiB: totalMib }),
    ...(kibPerSecond === undefined ? {} : { kibPerSecond }),
    ...(connections === undefined ? {} : { connections }),
    ...(connectionsPerSecond === undefined ? {} : { connectionsPerSecond }),
  };
}

async function find({ connect }: CommandContext, ref: string, options: ServerChoice): Promise<SandboxHandle> {
  const caisson = await connect(options);
  const { findSandbox } = await import('../find-sandbox.ts');
  return findSandbox(caisson, ref);
}

function parseRevision(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
