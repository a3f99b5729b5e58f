import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseWholeDuration } from '../input/duration.ts';
import { withProgress } from '../output/progress.ts';

interface StaleOptions extends ServerChoice {
  readonly aged?: number;
  readonly apply?: boolean;
}

export function addInspect(parent: Command, context: CommandContext): void {
  const { screen } = context;
  const inspect = parent.command('inspect').description('the host of the server, and what is left over on it');

  withServer(inspect.command('host').description('load, memory, disk, sandboxes, drivers, versions')).action(
    async (options: ServerChoice) => {
      const report = await withProgress(screen, 'looking at the host', async () =>
        (await context.connect(options)).hosts.inspect(),
      );
      const { hostText } = await import('../output/host-text.ts');
      screen.result(report, () => hostText(screen, report));
    },
  );

  withServer(inspect.command('stale').description('orphans, zombie records and aged sandboxes; nothing is changed'))
    .option('--aged <duration>', 'what counts as a great age (7d)', parseWholeDuration)
    .action(async (options: StaleOptions) => {
      const found = await (await context.connect(options)).hosts.stale({ agedSeconds: options.aged });
      const { staleText } = await import('../output/host-text.ts');
      screen.result(found, () => staleText(found));
    });
}

export function addReapStale(parent: Command, context: CommandContext): void {
  const { screen } = context;
  withServer(parent.command('reap-stale').description('what is stale and can be ended; with --apply it is'))
    .option('--apply', 'end it; otherwise it is only told')
    .option('--aged <duration>', 'also sandboxes that are older than this', parseWholeDuration)
    .action(async (options: StaleOptions) => {
      const { hosts } = await context.connect(options);
      const report = await hosts.reap({ apply: options.apply, agedSeconds: options.aged });
      const { staleText } = await import('../output/host-text.ts');
      screen.result(report, () => staleText(report));
      if (!report.applied && report.items.length > 0 && !screen.wantsJson)
        screen.note('nothing was changed; `caisson reap-stale --apply` ends them');
    });
}

export function addCapabilities(parent: Command, context: CommandContext): void {
  const { screen } = context;
  withServer(parent.command('capabilities').description('what this installation can do, for a machine')).action(
    async (options: ServerChoice) => {
      const found = await withProgress(screen, 'looking at everything', async () =>
        (await context.connect(options)).capabilities(),
      );
      const { capabilitiesText } = await import('../output/host-text.ts');
      screen.result(found, () => capabilitiesText(found));
    },
  );
}
