import { errorKinds } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { withProgress } from '../output/progress.ts';

export function addHealth(parent: Command, context: CommandContext): void {
  const { screen } = context;
  withServer(
    parent.command('health').description('how the server does, with what it was judged by and what to do about it'),
  ).action(async (options: ServerChoice) => {
    const health = await withProgress(screen, 'looking', async () => (await context.connect(options)).health());
    const { healthText } = await import('../output/health-text.ts');
    screen.result(health, () => healthText(screen, health));
    if (health.state === 'critical') context.exitWith(errorKinds.unavailable.exitCode);
  });
}
