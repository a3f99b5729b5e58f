import { type CreateSandbox, leaseEnds } from '@caisson/contract';
import { type Command, Option } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseDuration, parseWholeDuration } from '../input/duration.ts';
import { collectKeyValue, parseCount } from '../input/key-value.ts';
import { type NetworkFlags, networkFlagsInto, withNetworkFlags } from '../input/network-flags.ts';
import type { Invocation } from '../invocation.ts';

export interface CreateOptions extends ServerChoice, NetworkFlags {
  readonly spec?: string;
  readonly profile?: string;
  readonly input?: Record<string, string>;
  readonly name?: string;
  readonly project?: string;
  readonly scope?: string;
  readonly label?: Record<string, string>;
  readonly ttl?: number;
  readonly idle?: number;
  readonly atExpiry?: CreateSandbox['atExpiry'];
  readonly autoPause?: number;
  readonly autoResume?: boolean;
  readonly keepTurns?: number;
  readonly snapshotTools?: boolean;
  readonly wait: number;
  readonly driver?: string;
  readonly host?: string;
}

export function addCreate(parent: Command, context: CommandContext): void {
  const command = parent.command('create').description('create a sandbox and wait until it is ready');
  addMaking(command, context, 'create', 'creating');
}

export function addEnsure(parent: Command, context: CommandContext): void {
  const command = parent
    .command('ensure')
    .description('the healthy sandbox of this profile and name: the present one, or a new one');
  addMaking(command, context, 'ensure', 'ensuring');
}

function addMaking(command: Command, context: CommandContext, verb: 'create' | 'ensure', doing: string): void {
  withMaking(command).action(async (repo: string | undefined, options: CreateOptions) => {
    const request = await requestOf(repo, options, context.invocation);
    const caisson = await context.connect(options);
    const { followMaking } = await import('../follow-action.ts');
    await followMaking(caisson, context.screen, `${doing} a sandbox`, options.wait, (waitSeconds) =>
      caisson.sandboxes[verb]({ ...request, waitSeconds }),
    );
  });
}

/** What a sandbox can be asked to be, by words on the command line. */
export function withMaking(command: Command): Command {
  return withNetworkFlags(withServer(command))
    .argument('[repo]', 'git URL of the repository to work on, short for a spec with `repo`')
    .option('-s, --spec <file>', 'workspace spec, YAML or JSON; - is the standard input')
    .option('-p, --profile <name>', 'profile, as name or name@version')
    .option('-i, --input <name=value>', 'input of the profile; may be repeated', collectKeyValue)
    .option('-n, --name <name>', 'a name of your own')
    .option('--project <name>', 'another project of yours')
    .option('--scope <name>', 'keeps several sandboxes of one principal apart')
    .option('-l, --label <key=value>', 'label; may be repeated', collectKeyValue)
    .option('--ttl <duration>', 'how long it may live: 90s, 15m, 2h, 1d', parseWholeDuration)
    .option('--idle <duration>', 'end its lease too when nobody has used it for so long', parseWholeDuration)
    .addOption(new Option('--at-expiry <what>', 'what becomes of it when its lease ends').choices([...leaseEnds]))
    .option('--auto-pause <duration>', 'pause it when nobody has used it for so long', parseWholeDuration)
    .option('--auto-resume', 'let use resume it when it is paused')
    .option('--keep-turns <count>', 'how many snapshots of turns are kept, and how many of tools', parseCount)
    .option('--snapshot-tools', 'make a snapshot after each tool that may change files')
    .option('--wait <duration>', 'how long to wait until it is ready; 0 returns at once', parseDuration, 60)
    .option('--driver <name>', 'the driver that must hold it')
    .option('--host <name>', 'the host that must hold it (or CAISSON_HOST)');
}

export async function requestOf(
  repo: string | undefined,
  options: CreateOptions,
  invocation: Invocation,
): Promise<CreateSandbox> {
  const { readSpecObject } = await import('../input/read-spec.ts');
  const written = options.spec === undefined ? {} : await readSpecObject(options.spec, invocation);
  const { profile, name, project, scope, driver } = options;
  const host = options.host ?? (invocation.env.CAISSON_HOST || undefined);
  const network = networkFlagsInto(written.runtime, options);
  // A driver or a network alone is no intent: it is the sandbox of a bare create that has it.
  const isBare = options.spec === undefined && repo === undefined && profile === undefined;
  const blank = isBare && (driver !== undefined || network !== undefined);
  const spec = {
    ...written,
    ...(repo === undefined ? {} : { repo }),
    ...(driver === undefined ? {} : { target: targetOf(written.target, driver) }),
    ...(network === undefined ? {} : { runtime: network }),
  };
  const hasSpec = options.spec !== undefined || Object.keys(spec).length > 0;
  return {
    ...(hasSpec ? { spec } : {}),
    ...(profile === undefined ? (blank ? { profile: 'sandbox-canary' } : {}) : { profile }),
    ...(options.input === undefined ? {} : { inputs: options.input }),
    ...(name === undefined ? {} : { name }),
    ...(host === undefined ? {} : { host }),
    ...(project === undefined ? {} : { project }),
    ...(scope === undefined ? {} : { scope }),
    ...(options.label === undefined ? {} : { labels: options.label }),
    ...(options.ttl === undefined ? {} : { ttlSeconds: options.ttl }),
    ...(options.idle === undefined ? {} : { idleSeconds: options.idle }),
    ...(options.atExpiry === undefined ? {} : { atExpiry: options.atExpiry }),
    ...(options.autoPause === undefined ? {} : { autoPauseSeconds: options.autoPause }),
    ...(options.autoResume === undefined ? {} : { autoResume: options.autoResume }),
    ...snapshotsOf(options),
  };
}

function snapshotsOf({ keepTurns, snapshotTools }: CreateOptions): Pick<CreateSandbox, 'snapshots'> {
  if (keepTurns === undefined && snapshotTools === undefined) return {};
  return {
    snapshots: {
      ...(keepTurns === undefined ? {} : { keepTurns }),
      ...(snapshotTools === undefined ? {} : { perTool: snapshotTools }),
    },
  };
}

function targetOf(written: unknown, driver: string): unknown {
  const rest = typeof written === 'object' && written !== null && !Array.isArray(written) ? written : {};
  return { ...rest, runtime: { name: driver, mode: 'require' } };
}
