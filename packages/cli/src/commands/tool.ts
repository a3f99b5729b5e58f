import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseDuration } from '../input/duration.ts';
import { parseCount } from '../input/key-value.ts';

export interface RunToolOptions extends ServerChoice {
  readonly params?: string;
  readonly callId?: string;
  readonly timeout?: number;
  readonly user?: string;
  readonly memory?: number;
  readonly cpuTime?: number;
  readonly openFiles?: number;
  readonly snapshot?: boolean;
  readonly follow?: boolean;
}

/** The tools of agents, for people who try them out. */
export function addTool(parent: Command, context: CommandContext): void {
  const tool = parent.command('tool').description('the tools of agents: files, search, git, bash');

  withServer(tool.command('list').description('every tool and what it takes')).action(async (options: ServerChoice) => {
    const { listTools } = await import('../tools/list-tools.ts');
    await listTools(options, context);
  });

  withServer(tool.command('run').description('run a tool in a sandbox; its exit code is ours'))
    .argument('<sandbox>', 'id or name')
    .argument('<tool>', 'its name')
    .argument('[name=value...]', 'what it takes; a list or a map as JSON')
    .option('--params <json>', 'all that it takes as JSON; - is the standard input')
    .option('--call-id <id>', 'an id of your own: the same one again gets the first answer')
    .option('--timeout <duration>', 'end it after so long, with 124', parseDuration)
    .option('-u, --user <name>', 'name or number of a user of the sandbox')
    .option('--memory <MiB>', 'address space of each of its processes', parseCount)
    .option('--cpu-time <seconds>', 'processor time of each of its processes', parseCount)
    .option('--open-files <count>', 'of each of its processes', parseCount)
    .option('--snapshot', 'make a snapshot after it')
    .option('--no-snapshot', 'make none, whatever the sandbox does')
    .option('-f, --follow', 'show on stderr what it writes while it runs')
    .action(async (ref: string, name: string, words: string[], options: RunToolOptions) => {
      const { runTool } = await import('../tools/run-tool.ts');
      await runTool(ref, name, words, options, context);
    });
}
