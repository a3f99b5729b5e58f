import type { ExpireReport } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseDuration, parseWholeDuration } from '../input/duration.ts';
import { table } from '../output/table.ts';
import { relativeTime } from '../output/time.ts';

interface ExpireOptions extends ServerChoice {
  readonly apply?: boolean;
  readonly within: number;
  readonly project?: string;
}

export function addExtendTtl(parent: Command, context: CommandContext): void {
  withServer(parent.command('extend-ttl').description('let the lease of a sandbox end later; never beyond its maximum'))
    .argument('<sandbox>', 'id or name')
    .argument('<duration>', 'how much later: 30m, 2h, 1d', parseWholeDuration)
    .action(async (ref: string, seconds: number, options: ServerChoice) => {
      const caisson = await context.connect(options);
      const { findSandbox } = await import('../find-sandbox.ts');
      const sandbox = await (await findSandbox(caisson, ref)).extend(seconds);
      const { expiresAt } = sandbox.record;
      context.screen.result(sandbox.record, () => `until ${expiresAt} (${relativeTime(expiresAt)})`);
    });
}

export function addExpire(parent: Command, context: CommandContext): void {
  withServer(parent.command('expire').description('which leases have ended or end soon; with --apply end those due'))
    .option('--apply', 'end those that are due now; else they are only told')
    .option('--within <duration>', 'also those that end within so long', parseDuration, 0)
    .option('--project <name>', 'another project of your tenant')
    .action(async ({ apply = false, within, project, ...options }: ExpireOptions) => {
      const { screen } = context;
      const caisson = await context.connect(options);
      const request = { apply, withinSeconds: Math.ceil(within), ...(project === undefined ? {} : { project }) };
      const { withProgress } = await import('../output/progress.ts');
      const report = await withProgress(screen, 'looking at leases', () => caisson.sandboxes.expire(request));
      screen.result(report, () => expireText(report));
      const failed = report.items.filter(({ error }) => error !== null).length;
      if (failed > 0) context.exitWith(1);
      else if (!apply && !screen.wantsJson && report.items.some(({ due }) => due))
        screen.note('nothing was ended; --apply ends those that are due');
    });
}

function expireText({ items }: ExpireReport): string {
  if (items.length === 0) return 'no lease has ended or ends by then';
  return table(
    ['SANDBOX', 'NAME', 'STATE', 'ENDS', 'THEN', 'NOW'],
    items.map((item) => [
      item.sandbox,
      item.name ?? '-',
      item.state,
      relativeTime(item.expiresAt),
      item.atExpiry,
      item.ended ? 'ended' : (item.error ?? (item.due ? 'due' : '-')),
    ]),
  );
}
