import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseCount } from '../input/key-value.ts';

export interface LogsOptions extends ServerChoice {
  readonly follow?: boolean;
  readonly tail?: number;
}

export function addLogs(parent: Command, context: CommandContext): void {
  withServer(
    parent.command('logs').description('what a process wrote, as far as it is kept; with --json a piece a line'),
  )
    .argument('<sandbox>', 'id or name')
    .argument('<process>', 'id, pid or tag')
    .option('-f, --follow', 'and what it writes from now on, until it ends; takes it from who is attached')
    .option('--tail <lines>', 'only the last lines of each stream', parseCount)
    .action(async (ref: string, process: string, options: LogsOptions) => {
      const { logs } = await import('../sessions/logs.ts');
      await logs(ref, process, options, context);
    });
}
