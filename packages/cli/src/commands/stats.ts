import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseWholeDuration } from '../input/duration.ts';
import { withProgress } from '../output/progress.ts';

interface StatsOptions extends ServerChoice {
  readonly watch?: boolean;
  readonly every: number;
}

export function addStats(parent: Command, context: CommandContext): void {
  withServer(parent.command('stats').description('what a sandbox uses at the moment'))
    .argument('<sandbox>', 'id or name')
    .option('-w, --watch', 'again and again, until interrupted; with --json one document a line')
    .option('--every <duration>', 'how often', parseWholeDuration, 1)
    .action((ref: string, options: StatsOptions) => stats(ref, options, context));
}

async function stats(ref: string, options: StatsOptions, context: CommandContext): Promise<void> {
  const { screen } = context;
  const { findSandbox } = await import('../find-sandbox.ts');
  const { statsLine, statsText, statsTitle } = await import('../output/stats-text.ts');
  const sandbox = await withProgress(screen, `asking ${ref}`, async () =>
    findSandbox(await context.connect(options), ref),
  );
  if (options.watch !== true) {
    const now = await sandbox.stats();
    return screen.result(now, () => statsText(now));
  }
  if (!screen.wantsJson) screen.print(statsTitle);
  let before: { readonly at: number; readonly cpuSeconds: number } | undefined;
  for (;;) {
    const now = await sandbox.stats();
    const at = performance.now();
    // A share of one processor since the last time; the first time there is none.
    const share = before && (now.cpuSeconds - before.cpuSeconds) / ((at - before.at) / 1000);
    before = { at, cpuSeconds: now.cpuSeconds };
    screen.print(screen.wantsJson ? JSON.stringify(now) : statsLine(now, share));
    await new Promise((resolve) => setTimeout(resolve, options.every * 1000));
  }
}
