import { CaissonError, type FailedTry, type Sandbox } from '@caisson/contract';
import { isBackendFault } from '../routing/backend-fault.ts';
import { isBackend } from '../routing/candidate.ts';
import type { StepChange } from '../store/sandboxes.ts';
import { failureReason } from './failure.ts';
import { launch } from './launch.ts';
import type { WorkContext } from './work-context.ts';

/**
 * Launches a new sandbox on the backend of its record, and when that fails through the backend's own fault, on the next
 * that its route allows. Each move is written before the next try begins, so whoever goes on after a crash goes on there.
 * What the first could not remove of its own try the reconciler ends: no record says that it is there.
 */
export async function launchSomewhere(
  context: WorkContext,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<StepChange> {
  const failed: FailedTry[] = [];
  let standing = sandbox;
  for (;;) {
    const began = performance.now();
    try {
      return await launch(context, standing, signal);
    } catch (error) {
      if (!isBackendFault(error) || signal.aborted) throw error;
      const ms = Math.round(performance.now() - began);
      const { driver, host } = standing;
      failed.push({ driver: driver ?? '', host: host ?? '', reason: failureReason(error), ms });
      const moved = await moveOn(context, standing, failed);
      if (!moved) throw failed.length > 1 ? withTries(error, failed) : error;
      standing = moved;
    }
  }
}

async function moveOn(
  { store, health, driver }: WorkContext,
  sandbox: Sandbox,
  failed: readonly FailedTry[],
): Promise<Sandbox | undefined> {
  const last = failed.at(-1);
  const route = sandbox.attempt === null ? undefined : await store.routes.ofAttempt(sandbox.attempt);
  if (!route || !last) return undefined;
  const failedTries = [...route.failedTries, last];
  const next = route.candidates.find(
    (candidate) =>
      candidate.rank !== null &&
      !failedTries.some((one) => isBackend(one, candidate)) &&
      health?.whyResting(candidate, sandbox.owner.tenant) === undefined &&
      isInstalled(driver, candidate.driver),
  );
  if (!next) return undefined;
  const to = { driver: next.driver, host: next.host };
  const moved = await store.routes.move(sandbox, to, { ...route, failedTries }, last);
  health?.counts.movedOn(last);
  const notice = `The driver ${last.driver} could not launch it (${last.reason.message}); ${to.driver} was tried next.`;
  return { ...moved, notices: [...moved.notices, notice] };
}

function isInstalled(find: WorkContext['driver'], name: string): boolean {
  try {
    find(name);
    return true;
  } catch {
    return false;
  }
}

/** The last failure, with what happened before it. */
function withTries(error: CaissonError, failed: readonly FailedTry[]): CaissonError {
  const tries = failed.map(({ driver, host, reason, ms }) => ({ driver, host, ms, ...reason }));
  const { code, message, problems, hint } = error;
  return new CaissonError(code, message, { problems, hint, context: { ...error.context, tries }, cause: error });
}
