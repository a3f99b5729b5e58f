import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseDuration } from '../input/duration.ts';
import { collect } from '../input/key-value.ts';
import { defaultDetachKeys, parseDetachKeys } from '../sessions/detach-keys.ts';

export interface ExecOptions extends ServerChoice {
  readonly shell?: string;
  readonly interactive?: boolean;
  readonly tty?: boolean;
  readonly env?: string[];
  readonly workdir?: string;
  readonly user?: string;
  readonly timeout?: number;
  readonly detach?: boolean;
  readonly tag?: string[];
  readonly detachKeys: Buffer;
}

export function withDetachKeys(command: Command): Command {
  const keys = `the keys that leave it running (default: ${defaultDetachKeys}); none for no keys`;
  return command.option('--detach-keys <keys>', keys, parseDetachKeys, parseDetachKeys(defaultDetachKeys));
}

export function addExec(parent: Command, context: CommandContext): void {
  const command = withServer(parent.command('exec').description('run a command in a sandbox; its exit code is ours'))
    .usage('<sandbox> [options] -- <command> [args...]')
    .argument('<sandbox>', 'id or name')
    .argument('[command...]', 'program and arguments, behind --')
    .option('-c, --shell <text>', 'run this text by /bin/sh -c')
    .option('-i, --interactive', 'pass stdin also when it is a terminal')
    .option('-t, --tty', 'give it a terminal')
    .option('-e, --env <name=value>', 'a variable; the name alone takes its value here; may be repeated', collect)
    .option('-w, --workdir <path>', 'where it begins')
    .option('-u, --user <name>', 'name or number of a user of the sandbox')
    .option('--timeout <duration>', 'end it after so long, with 124', parseDuration)
    .option('-d, --detach', 'leave it in the background and print its id')
    .option('--tag <text>', 'a tag to find it by; may be repeated', collect);
  withDetachKeys(command).action(async (ref: string, argv: string[], options: ExecOptions) => {
    const { exec } = await import('../sessions/exec.ts');
    await exec(ref, argv, options, context);
  });
}
