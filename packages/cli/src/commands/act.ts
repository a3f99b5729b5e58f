import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseDuration } from '../input/duration.ts';

interface ActOptions extends ServerChoice {
  readonly wait: number;
  readonly drain?: number;
}

interface Act {
  readonly verb: 'recreate' | 'stop' | 'start' | 'pause' | 'resume' | 'destroy';
  readonly summary: string;
  readonly doing: string;
}

const acts: readonly Act[] = [
  {
    verb: 'recreate',
    summary: 'replace the instance by a new one of the same spec; the id stays',
    doing: 'recreating',
  },
  { verb: 'stop', summary: 'end its processes; keep its filesystem when it is persistent', doing: 'stopping' },
  { verb: 'start', summary: 'launch a stopped or failed sandbox again', doing: 'starting' },
  { verb: 'pause', summary: 'let every process stand still; nothing is lost', doing: 'pausing' },
  { verb: 'resume', summary: 'let a paused sandbox go on', doing: 'resuming' },
  { verb: 'destroy', summary: 'remove everything it has; its record and events remain', doing: 'destroying' },
];

export function addActs(parent: Command, context: CommandContext): void {
  for (const act of acts) {
    const command = withServer(parent.command(act.verb).description(act.summary))
      .argument('<sandbox>', 'id or name')
      .option('--wait <duration>', 'how long to wait for its end; 0 returns at once', parseDuration, 60);
    if (act.verb === 'pause') {
      command.option('--drain <duration>', 'how long running tools may take to end', parseDuration, 10);
    }
    command.action((ref: string, options: ActOptions) => perform(act, ref, options, context));
  }
}

async function perform(
  { verb, doing }: Act,
  ref: string,
  options: ActOptions,
  { connect, screen }: CommandContext,
): Promise<void> {
  const { drain } = options;
  const caisson = await connect(options);
  const { findSandbox } = await import('../find-sandbox.ts');
  const { followAction, tellAction } = await import('../follow-action.ts');
  const sandbox = await followAction(caisson, screen, `${doing} ${ref}`, options.wait, async (waitSeconds) =>
    (await findSandbox(caisson, ref))[verb]({ waitSeconds, ...(drain === undefined ? {} : { drainSeconds: drain }) }),
  );
  tellAction(screen, sandbox);
}
