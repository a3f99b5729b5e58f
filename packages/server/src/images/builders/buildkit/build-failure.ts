import { CaissonError } from '@caisson/contract';
import { asStepError, failedRun, speaksOfNoSpace } from '../step-failure.ts';
import { GrpcError, grpcCodes } from './grpc/status.ts';
import type { StepLimit } from './step-limit.ts';
import type { FailedStep } from './step-progress.ts';

const exitForm = /exit code: (\d+)/g;
const signalled = 128;
const wordsMax = 500;

export interface Circumstances {
  readonly failed: FailedStep | undefined;
  readonly where: string;
  readonly limit: StepLimit;
  readonly signal: AbortSignal;
}

/** What ended a build, in our words: one error that names the step where there is one. */
export function buildFailure(error: unknown, { failed, where, limit, signal }: Circumstances): unknown {
  if (failed === undefined) {
    if (signal.aborted) return signal.reason instanceof CaissonError ? signal.reason : cancelled(signal.reason);
    return translated(error, where);
  }
  const isAway = !(error instanceof GrpcError) || error.code === grpcCodes.unavailable;
  if (signal.aborted || (isAway && !limit.signal.aborted))
    return asStepError(failed.step, translated(error, where), signal);
  const { step, lastLines, words } = failed;
  const limitMs = limit.ms;
  if (limit.signal.aborted)
    return failedRun({ step, exit: { why: 'timed_out' }, lastLines, limitMs, shortage: undefined });
  const code = exitCodeIn(words) ?? exitCodeIn((error as Error).message);
  if (code === undefined) return asStepError(step, translated(error, where), signal);
  const exit =
    code > signalled && code < signalled + 65
      ? { why: 'signalled' as const, code, signal: code - signalled }
      : { why: 'exited' as const, code };
  // Which disk is full nobody says; it is the engine's.
  const shortage = speaksOfNoSpace(lastLines) ? ('pool' as const) : undefined;
  return failedRun({ step, exit, lastLines, limitMs, shortage });
}

/** The last number counts: the words before it are the command's, and may say anything. */
function exitCodeIn(words: string): number | undefined {
  const found = [...words.matchAll(exitForm)].at(-1)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** A failure that has no step. */
export function translated(error: unknown, where: string): CaissonError {
  if (error instanceof CaissonError) return error;
  const words = (error as Error).message.replace(/\s+/g, ' ').slice(-wordsMax);
  const context = { buildkit: where };
  if (!(error instanceof GrpcError) || error.code === grpcCodes.unavailable)
    return new CaissonError('driver_unavailable', `BuildKit at ${where} went away: ${words}`, {
      hint: 'Look whether its engine runs, and build again; the steps before are kept there.',
      context,
      cause: error,
    });
  const code = /no space left on device/i.test(words) ? 'storage_full' : 'build_failed';
  return new CaissonError(code, `BuildKit refused the build: ${words}`, { context, cause: error });
}

function cancelled(reason: unknown): CaissonError {
  return new CaissonError('action_cancelled', 'the build was cancelled', { cause: reason });
}
