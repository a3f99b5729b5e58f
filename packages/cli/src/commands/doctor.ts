import { errorKinds } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { withProgress } from '../output/progress.ts';

export function addDoctor(parent: Command, context: CommandContext): void {
  const { screen } = context;
  withServer(
    parent.command('doctor').description('what this installation can do, what it cannot, and what would change that'),
  ).action(async (options: ServerChoice) => {
    const report = await withProgress(screen, 'looking at everything', async () =>
      (await context.connect(options)).doctor(),
    );
    const { doctorText } = await import('../output/doctor-text.ts');
    screen.result(report, () => doctorText(screen, report));
    if (!report.ok) context.exitWith(errorKinds.unavailable.exitCode);
  });
}
