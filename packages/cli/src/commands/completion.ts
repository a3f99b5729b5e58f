import { Argument, type Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { shells } from '../completion/shells.ts';

export function addCompletion(parent: Command, { screen }: CommandContext): void {
  parent
    .command('completion')
    .description('a script that completes commands and options in your shell')
    .addArgument(new Argument('<shell>', 'which one').choices(Object.keys(shells)))
    .addHelpText(
      'after',
      '\nbash:  source <(caisson completion bash)\nzsh:   source <(caisson completion zsh)\nfish:  caisson completion fish | source',
    )
    .action(async (shell: keyof typeof shells) => {
      const { commandTree } = await import('../completion/command-tree.ts');
      const render = await shells[shell]();
      screen.print(render(commandTree(parent)));
    });
}
