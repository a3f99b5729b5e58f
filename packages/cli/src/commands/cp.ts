import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';

export interface CopyOptions extends ServerChoice {
  readonly user?: string;
  readonly parents?: boolean;
}

export function addCp(parent: Command, context: CommandContext): void {
  withServer(parent.command('cp').description('copy a file or a folder into a sandbox or out of it'))
    .argument('<source>', 'a path here, <sandbox>:<path>, or - for stdin')
    .argument('<target>', '<sandbox>:<path>, a path here, or - for stdout')
    .option('-p, --parents', 'make missing folders in the sandbox')
    .option('-u, --user <name>', 'with whose permission; the sandbox’s own user when absent')
    .addHelpText('after', '\nA folder goes through - as a tar archive. `folder/.` is what is in it.')
    .action(async (source: string, target: string, options: CopyOptions) => {
      const { copy } = await import('../transfer/copy.ts');
      await copy(source, target, options, context);
    });
}
