import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseCount } from '../input/key-value.ts';
import { egressText, usageText } from '../output/egress-text.ts';

interface LogOptions extends ServerChoice {
  readonly follow?: boolean;
  readonly refused?: boolean;
  readonly after?: number;
  readonly limit?: number;
}

export function addEgress(parent: Command, context: CommandContext): void {
  const { screen } = context;
  const group = parent.command('egress').description('what a sandbox wanted to reach, and what was decided');

  withServer(group.command('log').description('decisions, oldest first; with --json one document a line'))
    .argument('<sandbox>', 'id or name')
    .option('-f, --follow', 'what is decided from now on, until interrupted; with --after also what was since')
    .option('--refused', 'only what was refused')
    .option('--after <position>', 'only after this position of the log; 0 is its beginning', parsePosition)
    .option('--limit <count>', 'end after so many', parseCount)
    .action(async (ref: string, options: LogOptions) => {
      const caisson = await context.connect(options);
      const { findSandbox } = await import('../find-sandbox.ts');
      const { egress } = await findSandbox(caisson, ref);
      const { follow = false, refused = false, after, limit } = options;
      const query = { after, ...(refused ? { verdict: 'refused' as const } : {}) };
      let count = 0;
      for await (const record of follow ? egress.follow(query) : egress.log(query)) {
        screen.print(screen.wantsJson ? JSON.stringify(record) : egressText(screen, record, ref));
        count += 1;
        if (count === limit) break;
      }
    });

  withServer(group.command('usage').description('bytes, connections and decisions by host, and the limits'))
    .argument('<sandbox>', 'id or name')
    .action(async (ref: string, options: ServerChoice) => {
      const caisson = await context.connect(options);
      const { findSandbox } = await import('../find-sandbox.ts');
      const usage = await (await findSandbox(caisson, ref)).egress.usage();
      screen.result(usage, () => usageText(usage));
    });
}

function parsePosition(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
