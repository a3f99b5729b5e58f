import type { Caisson } from '@caisson/sdk';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseWholeDuration } from '../input/duration.ts';
import { parseCount } from '../input/key-value.ts';
import { withProgress } from '../output/progress.ts';
import type { Moment } from '../output/top-text.ts';

interface TopOptions extends ServerChoice {
  readonly every: number;
  readonly limit: number;
  readonly once?: boolean;
}

/** Goes to the first line and clears what was below. */
const anew = '\u001b[H\u001b[J';

export function addTop(parent: Command, context: CommandContext): void {
  withServer(parent.command('top').description('what running sandboxes use, the busiest first, until interrupted'))
    .option('--every <duration>', 'how often', parseWholeDuration, 2)
    .option('--limit <count>', 'how many sandboxes to look at', parseCount, 100)
    .option('--once', 'one look and no more')
    .action((options: TopOptions) => top(options, context));
}

async function top(options: TopOptions, context: CommandContext): Promise<void> {
  const { screen } = context;
  const { topText } = await import('../output/top-text.ts');
  const caisson = await withProgress(screen, 'asking the server', () => context.connect(options));
  let before: Moment | undefined;
  for (;;) {
    const now = await look(caisson, Math.min(500, options.limit));
    if (screen.wantsJson) screen.json(now.usage);
    else screen.print(`${screen.out.isTTY && !options.once ? anew : ''}${topText(screen, now, before)}`);
    if (options.once) return;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, options.every * 1000));
  }
}

async function look(caisson: Caisson, limit: number): Promise<Moment> {
  const [usage, health] = await Promise.all([
    caisson.usage({ limit }),
    // Only an operator is told how the server does.
    caisson.health().catch(() => undefined),
  ]);
  return { at: performance.now(), usage, health };
}
