import { CaissonError } from '@caisson/contract';
import type { BuildStep } from '../plan/build-steps.ts';

/** The command of a step, for an error: enough to know it again. */
const commandChars = 2_000;
/** What a kernel says to whoever writes to a full disk; programs print it as it is. */
const noSpace = /No space left on device|Disk quota exceeded/;

/** How the command of a step ended. */
export interface StepExit {
  readonly why: 'exited' | 'signalled' | 'timed_out' | 'out_of_memory';
  /** Of one that exited. */
  readonly code?: number | undefined;
  readonly signal?: number | undefined;
}

export interface FailedRun {
  readonly step: BuildStep;
  readonly exit: StepExit;
  readonly lastLines: readonly string[];
  readonly limitMs: number;
  readonly shortage: 'disk' | 'pool' | undefined;
}

/** A step whose command did not end well. */
export function failedRun({ step, exit, lastLines, limitMs, shortage }: FailedRun): CaissonError {
  const context = { ...contextOf(step), ...(exit.code === undefined ? {} : { exitCode: exit.code }), lastLines };
  if (shortage !== undefined) return noRoom(step, shortage, context);
  const last = lastLines.at(-1);
  const said = last === undefined ? '' : `: ${last}`;
  const fail = (how: string, hint?: string) =>
    new CaissonError('build_failed', `the step ${step.id} ${how}`, {
      ...(hint === undefined ? {} : { hint }),
      context,
    });
  switch (exit.why) {
    case 'timed_out':
      return fail(`did not end within ${Math.round(limitMs / 1000)} s and was ended`, 'Look for what it waits for.');
    case 'out_of_memory':
      return fail('used up the memory that a build may have', 'Let it do less at once, such as `make -j1`.');
    case 'signalled':
      return fail(`was ended by the signal ${exit.signal ?? 'of somebody'}${said}`);
    case 'exited':
      return fail(`ended with ${exit.code ?? 'no exit code'}${said}`);
  }
}

/** Whether what the step printed last speaks of a full disk. */
export function speaksOfNoSpace(lastLines: readonly string[]): boolean {
  return lastLines.some((line) => noSpace.test(line));
}

function noRoom(step: BuildStep, what: 'disk' | 'pool', context: Record<string, unknown>): CaissonError {
  if (what === 'pool')
    return new CaissonError('storage_full', `the step ${step.id} found the storage of this server full`, { context });
  return new CaissonError('disk_quota_exceeded', `the step ${step.id} filled the disk that a build may have`, {
    hint: 'Let it write less, or split it: each step begins with an empty disk of its own.',
    context,
  });
}

/** Anything else that went wrong in a step, with its name. An abort keeps the reason that was given for it. */
export function asStepError(step: BuildStep, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return cancelled(step, signal.reason);
  if (!(error instanceof CaissonError)) {
    const context = contextOf(step);
    return new CaissonError('build_failed', `the step ${step.id} could not be done`, { context, cause: error });
  }
  if (error.context.step !== undefined) return error;
  const context = { ...error.context, ...contextOf(step) };
  // A tree that cannot be told as a layer is the step's doing.
  const code = error.code === 'file_invalid' ? 'build_failed' : error.code;
  return new CaissonError(code, `the step ${step.id}: ${error.message}`, { context, cause: error });
}

function cancelled(step: BuildStep, reason: unknown): CaissonError {
  if (reason instanceof CaissonError) return reason;
  return new CaissonError('action_cancelled', `the build was cancelled in its step ${step.id}`, {
    hint: 'Begin it again: the steps before are kept.',
    context: contextOf(step),
    cause: reason,
  });
}

function contextOf(step: BuildStep): Record<string, unknown> {
  const command = step.kind === 'copy' ? `copy ${step.from} to ${step.to}` : step.command;
  return { step: step.id, command: command.slice(0, commandChars) };
}
