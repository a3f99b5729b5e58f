import { CaissonError, newId, type StartProcess } from '@caisson/contract';
import type { OutputChunk } from '@caisson/sdk';
import type { CommandContext } from '../command-context.ts';
import type { ExecOptions } from '../commands/exec.ts';
import { findSandbox } from '../find-sandbox.ts';
import { readVariables } from '../input/variables.ts';
import { withProgress } from '../output/progress.ts';
import { CollectedOutput } from './collected-output.ts';
import { endSession } from './end-session.ts';
import { terminalSize } from './raw-terminal.ts';
import { runSession } from './session.ts';

/** Runs a command in a sandbox with our streams, or leaves it in the background. */
export async function exec(
  ref: string,
  argv: readonly string[],
  options: ExecOptions,
  context: CommandContext,
): Promise<void> {
  const { invocation, screen } = context;
  const command = commandOf(argv, options.shell);
  const { detach = false, tty = false } = options;
  if (tty && screen.wantsJson && !detach) {
    throw new CaissonError('request_invalid', 'a terminal has no JSON', { hint: 'Give `--tty` or `--json`.' });
  }
  const stdio = invocation.stdio();
  const input = !detach && (tty || options.interactive === true || stdio.stdin.isTTY !== true);
  const begun = performance.now();
  const { sandbox, process } = await withProgress(screen, `starting a command in ${ref}`, async () => {
    const caisson = await context.connect(options, { webSockets: !detach });
    const found = await findSandbox(caisson, ref);
    const variables = readVariables(options.env ?? [], invocation.env);
    const started = await found.processes.start(command, {
      process: newId('process'),
      ...startOptions(options),
      ...(tty ? { pty: terminalSize(stdio), env: { ...terminalVariables(invocation.env), ...variables } } : {}),
      ...(!tty && Object.keys(variables).length > 0 ? { env: variables } : {}),
      stdin: input,
      // In front nothing is lost between start and attachment, nor while a connection is broken.
      outputWhenDetached: detach || tty ? 'drop' : 'wait',
    });
    return { sandbox: found, process: started };
  });
  if (detach) return screen.result(process, () => process.id);
  const collected = screen.wantsJson ? new CollectedOutput() : undefined;
  const output = collected && (({ stream, bytes }: OutputChunk) => collected.take(stream, bytes));
  const attachment = process.attach();
  const end = await runSession(attachment, invocation, { tty, input, detachKeys: options.detachKeys, output });
  if (attachment.lost > 0) screen.note(`${attachment.lost} bytes of output were lost while the connection was broken`);
  if (end.left === false) {
    // Its end has been told; remembering it would only fill the list. A failure to forget leaves it there.
    await process.forget().catch(() => {});
    if (collected !== undefined) {
      const durationMs = Math.round(performance.now() - begun);
      screen.json({ process: process.id, ...end.exit, ...collected.toJSON(), durationMs });
    }
  }
  await endSession(end, { process, sandbox, isOurs: true }, context);
}

function commandOf(argv: readonly string[], shell: string | undefined): StartProcess['command'] {
  if (shell !== undefined && argv.length > 0) {
    // As with `sh -c`: what follows are its arguments.
    return ['/bin/sh', '-c', shell, 'sh', ...argv];
  }
  if (shell !== undefined) return shell;
  if (argv.length > 0) return [...argv];
  throw new CaissonError('request_invalid', 'there is no command', {
    hint: 'Write it behind `--`, or as text for a shell: `-c <text>`.',
  });
}

function startOptions({ workdir, user, timeout, tag }: ExecOptions) {
  return {
    ...(workdir === undefined ? {} : { cwd: workdir }),
    ...(user === undefined ? {} : { user }),
    ...(timeout === undefined ? {} : { timeoutSeconds: timeout }),
    ...(tag === undefined ? {} : { tags: tag }),
  };
}

/** What a program inside must know to write for the terminal outside. */
export function terminalVariables(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const { TERM, COLORTERM } = env;
  return { TERM: TERM || 'xterm', ...(COLORTERM ? { COLORTERM } : {}) };
}
