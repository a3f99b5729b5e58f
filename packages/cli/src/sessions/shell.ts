import { CaissonError, newId } from '@caisson/contract';
import type { Process, SandboxHandle } from '@caisson/sdk';
import type { CommandContext } from '../command-context.ts';
import type { AttachOptions, ShellOptions } from '../commands/shell.ts';
import { findProcess } from '../find-process.ts';
import { findSandbox } from '../find-sandbox.ts';
import { readVariables } from '../input/variables.ts';
import { withProgress } from '../output/progress.ts';
import { endSession } from './end-session.ts';
import { terminalVariables } from './exec.ts';
import { terminalSize } from './raw-terminal.ts';
import { replayOf } from './replay.ts';
import { runSession } from './session.ts';

/** The shell of the user; where that is just `sh`, bash when there is one. */
const loginShell =
  'case $SHELL in ""|*/sh|*/false|*/nologin) SHELL=$(command -v bash || echo /bin/sh); export SHELL;; esac; exec "$SHELL" -l';

/** A terminal in a sandbox: a new shell, or a process that is there already. */
export async function shell(ref: string, options: ShellOptions, context: CommandContext): Promise<void> {
  if (options.process !== undefined) return attach(ref, options.process, options, context);
  const { invocation, screen } = context;
  const stdio = invocation.stdio();
  const joined = await withProgress(screen, `starting a shell in ${ref}`, async () => {
    const sandbox = await findSandbox(await context.connect(options, { webSockets: true }), ref);
    const command = options.shell === undefined ? ['/bin/sh', '-c', loginShell] : [options.shell];
    const env = { ...terminalVariables(invocation.env), ...readVariables(options.env ?? [], invocation.env) };
    const process = await sandbox.processes.start(command, {
      process: newId('process'),
      pty: terminalSize(stdio),
      env,
      tags: ['shell'],
      ...(options.workdir === undefined ? {} : { cwd: options.workdir }),
      ...(options.user === undefined ? {} : { user: options.user }),
    });
    return { sandbox, process };
  });
  await join(joined, {}, options, context);
}

/** Joins a process that runs already, and shows its recent output once. */
export async function attach(
  ref: string,
  wanted: string,
  options: AttachOptions,
  context: CommandContext,
): Promise<void> {
  const joined = await withProgress(context.screen, `attaching to ${wanted}`, async () => {
    const sandbox = await findSandbox(await context.connect(options, { webSockets: true }), ref);
    return { sandbox, process: await findProcess(sandbox, wanted) };
  });
  const { process } = joined;
  if (!process.running) {
    throw new CaissonError('process_ended', `${process.id} has ended`, {
      hint: `\`caisson logs ${ref} ${process.id}\` shows what it wrote.`,
    });
  }
  await join(joined, replayOf(process.record), options, context);
}

async function join(
  joined: { readonly sandbox: SandboxHandle; readonly process: Process },
  replay: ReturnType<typeof replayOf>,
  options: AttachOptions,
  context: CommandContext,
): Promise<void> {
  const { invocation, screen } = context;
  const { process } = joined;
  const tty = process.record.pty;
  const attachment = process.attach(replay);
  const isBack = replay.stdoutFrom !== undefined;
  if (tty && isBack) {
    const { columns, rows } = terminalSize(invocation.stdio());
    // Only a change of size makes a program that fills the screen draw it again.
    await attachment.resize(columns, rows > 1 ? rows - 1 : rows + 1).catch(() => {});
    await attachment.resize(columns, rows).catch(() => {});
  }
  const input = options.stdin !== false;
  const session = { tty, input, watches: !input, detachKeys: options.detachKeys };
  const end = await runSession(attachment, invocation, session);
  // What was there before us stays in the list for whoever started it.
  if (end.left === false && !isBack) await process.forget().catch(() => {});
  const exit = end.left === false ? end.exit : null;
  if (screen.wantsJson) screen.json({ process: process.id, detached: end.left !== false, exit });
  else if (end.left === 'keys') screen.note('');
  await endSession(end, { ...joined, isOurs: false }, context);
}
