import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { collect } from '../input/key-value.ts';
import { withDetachKeys } from './exec.ts';

export interface ShellOptions extends ServerChoice {
  readonly process?: string;
  readonly shell?: string;
  readonly env?: string[];
  readonly workdir?: string;
  readonly user?: string;
  readonly detachKeys: Buffer;
}

export type AttachOptions = ServerChoice & Pick<ShellOptions, 'detachKeys'> & { readonly stdin?: boolean };

export function addShell(parent: Command, context: CommandContext): void {
  const command = withServer(parent.command('shell').description('a terminal in a sandbox'))
    .argument('<sandbox>', 'id or name')
    .option('--process <id>', 'come back to one that runs already')
    .option('--shell <program>', "instead of the user's own, or bash, or sh")
    .option('-e, --env <name=value>', 'a variable; the name alone takes its value here; may be repeated', collect)
    .option('-w, --workdir <path>', 'where it begins')
    .option('-u, --user <name>', 'name or number of a user of the sandbox');
  withDetachKeys(command).action(async (ref: string, options: ShellOptions) => {
    const { shell } = await import('../sessions/shell.ts');
    await shell(ref, options, context);
  });
}

export function addAttach(parent: Command, context: CommandContext): void {
  const command = withServer(
    parent.command('attach').description('come back to a running process: its recent output, then ours'),
  )
    .argument('<sandbox>', 'id or name')
    .argument('<process>', 'id, pid or tag')
    .option('--no-stdin', 'only watch');
  withDetachKeys(command).action(async (ref: string, process: string, options: AttachOptions) => {
    const { attach } = await import('../sessions/shell.ts');
    await attach(ref, process, options, context);
  });
}
