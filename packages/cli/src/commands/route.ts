import { errorKinds } from '@caisson/contract';
import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { type CreateOptions, requestOf, withMaking } from './create.ts';

export function addRoute(parent: Command, context: CommandContext): void {
  const { screen } = context;
  const route = parent.command('route').description('where sandboxes go, and why');

  withMaking(
    route.command('explain').description('where a create with the same words would go; nothing is launched'),
  ).action(async (repo: string | undefined, options: CreateOptions) => {
    const request = await requestOf(repo, options, context.invocation);
    const decision = await (await context.connect(options)).sandboxes.explain(request);
    const { decisionText } = await import('../output/route-text.ts');
    screen.result(decision, () => decisionText(screen, decision));
    if (decision.chosen === null) context.exitWith(errorKinds.unavailable.exitCode);
  });
}
