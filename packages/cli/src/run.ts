import { CaissonError, toProblem } from '@caisson/contract';
import { CommanderError } from 'commander';
import type { Invocation } from './invocation.ts';
import { errorText } from './output/error-text.ts';
import { Screen } from './output/screen.ts';
import { buildProgram } from './program.ts';

/** EX_USAGE of sysexits.h, next to the codes of the error table: the command line itself is wrong. */
const usageExitCode = 64;

/**
 * Runs one command. With `--json` a failure is one problem document, the last line on the standard error; else it is told
 * in words. There is never a stack trace.
 */
export async function run(invocation: Invocation): Promise<number> {
  const screen = new Screen(invocation);
  const outcome = { exitCode: 0 };
  try {
    await buildProgram(invocation, screen, outcome).parseAsync(invocation.argv, { from: 'user' });
    return outcome.exitCode;
  } catch (error) {
    // Help and version were printed already.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const told = asCaissonError(error);
    if (screen.wantsJson) screen.errorLine(JSON.stringify(toProblem(told)));
    else screen.errorLine(errorText(told));
    return error instanceof CommanderError ? usageExitCode : told.exitCode;
  }
}

function asCaissonError(error: unknown): CaissonError {
  if (error instanceof CaissonError) return error;
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, '');
    return new CaissonError('request_invalid', message, { hint: 'See `caisson help`.' });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new CaissonError('internal', message, { cause: error });
}
