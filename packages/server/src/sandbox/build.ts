import {
  type Attempt,
  type Build,
  CaissonError,
  hasCode,
  type Sandbox,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import type { BaseImage } from '../images/images.ts';
import type { StepChange } from '../store/sandboxes.ts';
import { requireRecordedBase } from './base-access.ts';
import { Progress } from './progress.ts';
import type { WorkContext } from './work-context.ts';

/**
 * What a sandbox does while it is `building`: it waits for the build of its image, and begins it where nobody has. It may
 * be done again from its start. A build that the last one leaves is stopped.
 */
export async function build(context: WorkContext, sandbox: Sandbox, signal: AbortSignal): Promise<StepChange> {
  const attempt = sandbox.attempt === null ? undefined : await context.store.attempts.get(sandbox.attempt);
  if (!attempt) throw new CaissonError('attempt_not_found', `${sandbox.id} has nothing to be built`);
  await buildImage(context, sandbox, attempt, signal);
  return {};
}

/** The image of an attempt, built where it is not here. */
export async function buildImage(
  { store, imageChoice, profile }: WorkContext,
  sandbox: Sandbox,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<BaseImage> {
  if (!imageChoice) throw new CaissonError('build_failed', 'nothing is built by this server');
  requireRecordedBase(sandbox, attempt.blueprint as WorkspaceBlueprint, profile?.(sandbox));
  let known = attempt.build;
  const progress = new Progress(store, sandbox.id);
  const steps = new StepLines(progress.tell);
  try {
    return await imageChoice.build(
      { attempt, blueprint: attempt.blueprint as WorkspaceBlueprint, owner: sandbox.owner },
      {
        signal,
        progress: progress.tell,
        learn: async (made) => {
          known = made.build ?? known;
          await store.attempts.learn(attempt.id, made);
        },
        look: steps.look,
      },
    );
  } catch (error) {
    if (known !== null && hasCode(signal.reason, 'action_cancelled')) await imageChoice.leave(known, sandbox.id);
    throw signal.aborted ? signal.reason : error;
  } finally {
    await progress.end();
  }
}

/** A build as lines that tell what it does: each step as it begins and ends, with its time. */
class StepLines {
  readonly #tell: (line: string) => void;
  #told = '';

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  readonly look = (record: Build): void => {
    const line = lineOf(record);
    if (line === this.#told) return;
    this.#told = line;
    this.#tell(line);
  };
}

function lineOf({ id, state, steps, error }: Build): string {
  if (state === 'queued') return error ? `${id} is tried again: ${error.message}` : `${id} waits for its turn`;
  const step = steps.at(-1);
  if (!step) return `${id} begins`;
  const doing = step.ms === null ? [`${step.title} …`] : [];
  const done = steps.findLast(({ ms }) => ms !== null);
  const before = done ? [`${done.title} ${done.state} (${told(done.ms ?? 0)})`] : [];
  return [...before, ...doing].join(' · ');
}

function told(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
