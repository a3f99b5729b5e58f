import type { Process, SandboxHandle } from '@caisson/sdk';
import type { CommandContext } from '../command-context.ts';
import { exitCodeOf, exitNote } from './exit-code.ts';
import type { SessionEnd } from './session.ts';

/** 128 and SIGINT, SIGPIPE: what a shell gives for a command that these ended. */
const interrupted = 130;
const brokenPipe = 141;
/** How long the process is waited for when the reader of its output has gone. */
const pipeSeconds = 2;

interface Joined {
  readonly process: Process;
  readonly sandbox: SandboxHandle;
  /** Whether it runs for this command line alone. */
  readonly isOurs: boolean;
}

/** The exit code of our side, and what there is to tell about it. */
export async function endSession(
  end: SessionEnd,
  { process, sandbox, isOurs }: Joined,
  { screen, exitWith }: Pick<CommandContext, 'screen' | 'exitWith'>,
): Promise<void> {
  if (end.left === false) {
    const note = exitNote(end.exit);
    if (note !== undefined && !screen.wantsJson) screen.note(note);
    return exitWith(exitCodeOf(end.exit));
  }
  if (end.left === 'output-closed' && !isOurs) return exitWith(0);
  if (end.left === 'output-closed') {
    // The reader of a pipe has gone: the command hears of it as it would outside.
    const signalled = process.signal('SIGPIPE', { signal: AbortSignal.timeout(pipeSeconds * 1000) });
    await signalled.catch(() => {});
    return exitWith(brokenPipe);
  }
  if (!screen.wantsJson) {
    screen.note(
      `${process.id} goes on; \`caisson attach ${sandbox.name ?? sandbox.id} ${process.id}\` comes back to it`,
    );
  }
  exitWith(end.left === 'keys' ? 0 : interrupted);
}
