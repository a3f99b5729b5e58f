import { type ActionName, CaissonError, hasCode, type Sandbox, type WorkspaceBlueprint } from '@caisson/contract';
import type { CreateRequest, Driver, InstanceKey } from '../drivers/driver.ts';
import type { StepChange } from '../store/sandboxes.ts';
import type { Store } from '../store/store.ts';
import { withDeadline } from './deadline.ts';

/** How long a driver may take, by what it is asked. Longer and a person has given up; shorter and a slow disk fails. */
export interface Deadlines {
  readonly launchMs: number;
  readonly endMs: number;
  readonly inspectMs: number;
}

export const defaultDeadlines: Deadlines = { launchMs: 120_000, endMs: 60_000, inspectMs: 10_000 };

export interface WorkContext {
  readonly store: Store;
  readonly deadlines: Deadlines;
  readonly installation: string;
  driver(name: string | null): Driver;
}

/**
 * What each action does between entering its last transient state and its end. Every one may be run again from the start:
 * that is how an action goes on after the server was killed in the middle of it. It answers what changes in the record.
 */
type Work = (context: WorkContext, sandbox: Sandbox, signal: AbortSignal) => Promise<StepChange>;

export const work: Partial<Record<ActionName, Work>> = {
  create: launch,
  async recreate(context, sandbox, signal) {
    await end(context, keyOf(sandbox, -1), sandbox, signal);
    return launch(context, sandbox, signal);
  },
  start: launch,
  async stop(context, sandbox, signal) {
    await haltOrEnd(context, keyOf(sandbox), sandbox, signal);
    return { endInstance: true };
  },
  async destroy(context, sandbox, signal) {
    await end(context, keyOf(sandbox), sandbox, signal);
    if (sandbox.incarnation > 1) await end(context, keyOf(sandbox, -1), sandbox, signal);
    return { endInstance: true, endAttempt: { state: 'cancelled' } };
  },
};

export function keyOf(sandbox: Sandbox, offset = 0): InstanceKey {
  return { sandbox: sandbox.id, incarnation: sandbox.incarnation + offset };
}

/** Removes an instance; what is not there is removed already. */
export async function end(
  context: WorkContext,
  key: InstanceKey,
  sandbox: Pick<Sandbox, 'driver'>,
  signal: AbortSignal,
): Promise<void> {
  const driver = context.driver(sandbox.driver);
  await withDeadline('removing the instance', context.deadlines.endMs, signal, (inner) => driver.destroy(key, inner));
}

/** Ends the processes of an instance. The filesystem of a persistent sandbox is kept, where the backend owns it. */
export async function haltOrEnd(
  context: WorkContext,
  key: InstanceKey,
  sandbox: Pick<Sandbox, 'driver' | 'persistence'>,
  signal: AbortSignal,
): Promise<void> {
  const driver = context.driver(sandbox.driver);
  const { halt } = driver;
  if (sandbox.persistence !== 'persistent' || !halt) return end(context, key, sandbox, signal);
  await withDeadline('stopping', context.deadlines.endMs, signal, (inner) => halt.call(driver, key, inner));
}

async function launch(context: WorkContext, sandbox: Sandbox, signal: AbortSignal): Promise<StepChange> {
  const driver = context.driver(sandbox.driver);
  const request = await launchRequest(context, sandbox);
  try {
    const instance = await withDeadline('launching', context.deadlines.launchMs, signal, (inner) =>
      driver.create(request, inner),
    );
    return {
      reason: null,
      notices: [...new Set([...sandbox.notices, ...instance.notices])],
      instance: { driver: driver.name, host: instance.host },
      endAttempt: { state: 'succeeded' },
    };
  } catch (error) {
    // The next server goes on with what a shutdown interrupts; there is nothing to undo.
    if (!hasCode(error, 'shutting_down')) await undoLaunch(context, sandbox);
    throw error;
  }
}

async function launchRequest(context: WorkContext, sandbox: Sandbox): Promise<CreateRequest> {
  const attempt = sandbox.attempt === null ? undefined : await context.store.attempts.get(sandbox.attempt);
  if (!attempt) throw new CaissonError('attempt_not_found', `${sandbox.id} has no attempt to launch`);
  return {
    key: keyOf(sandbox),
    owner: sandbox.owner,
    labels: { 'caisson.installation': context.installation },
    // It was normalized when the attempt was recorded.
    blueprint: attempt.blueprint as WorkspaceBlueprint,
    fromKept: attempt.action === 'start' && sandbox.persistence === 'persistent',
  };
}

/**
 * A launch that failed leaves nothing behind but the filesystem that was kept for it. What cannot be removed now is found
 * by the reconciler, which ends every instance that no record wants.
 */
async function undoLaunch(context: WorkContext, sandbox: Sandbox): Promise<void> {
  await haltOrEnd(context, keyOf(sandbox), sandbox, new AbortController().signal).catch(() => {});
}
