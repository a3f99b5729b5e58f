import type { AttemptSummary } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { attemptTable, sandboxText } from '../output/sandbox-text.ts';

/** What a person reads at once; `--attempts` shows all. */
const shownAttempts = 5;

export function addGet(parent: Command, context: CommandContext): void {
  withServer(parent.command('get').description('one sandbox and the tries at its build and launch'))
    .argument('<sandbox>', 'id or name')
    .option('--attempts', 'all of the attempts; with --json, their inputs too')
    .action(async (ref: string, options: ServerChoice & { attempts?: boolean }) => {
      const { screen } = context;
      const caisson = await context.connect(options);
      const { findSandbox } = await import('../find-sandbox.ts');
      const sandbox = await findSandbox(caisson, ref);
      const route = await sandbox.route();
      if (screen.wantsJson && options.attempts !== true) return screen.json({ ...sandbox.record, route });
      const attempts: AttemptSummary[] = [];
      for await (const attempt of caisson.sandboxes.attempts(sandbox.id, { limit: shownAttempts })) {
        if (options.attempts !== true && attempts.length === shownAttempts) break;
        attempts.push(attempt);
      }
      screen.result({ ...sandbox.record, route, attempts }, () =>
        [sandboxText(screen, sandbox.record, route), '', attemptTable(attempts)].join('\n'),
      );
    });
}
