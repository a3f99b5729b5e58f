import { CaissonError, type Id, type Sandbox } from '@caisson/contract';
import type { StepChange } from '../../store/sandboxes.ts';
import { withDeadline } from '../deadline.ts';
import { end, keyOf } from '../end.ts';
import { launch } from '../launch.ts';
import type { Kept } from '../launch-plan.ts';
import type { WorkContext } from '../work-context.ts';
import { snapshotStorage } from './snapshot-storage.ts';

/**
 * Ends every process, puts the files back, and launches again. Killed at any point it is done again from the start: the
 * snapshot is the same, and nobody can use the sandbox before its end.
 */
export async function rollback(context: WorkContext, sandbox: Sandbox, signal: AbortSignal): Promise<StepChange> {
  const target = sandbox.rollbackTo;
  if (target === null) throw new CaissonError('internal', `${sandbox.id} is rolled back to nothing`);
  const storage = snapshotStorage(context, sandbox);
  return context.stillness.take(sandbox.id, signal, async (own) => {
    await tellWaiting(context, sandbox, target, own);
    await end(context, keyOf(sandbox), sandbox, own);
    await withDeadline('putting the files back', context.deadlines.snapshotMs, own, (inner) =>
      storage.rollback(sandbox, target, inner),
    );
    const launched = await launch(context, sandbox, own, await keptOf(context, sandbox, target));
    return { ...launched, head: target, rollbackTo: null };
  });
}

/** Files that were another sandbox's have an identity that is not this one's. */
async function keptOf({ store }: WorkContext, sandbox: Sandbox, target: Id<'snapshot'>): Promise<Kept> {
  const snapshot = await store.snapshots.get(target);
  const isForeign = snapshot !== undefined && snapshot.sandbox !== sandbox.id;
  return { isForeign, image: isForeign ? (await store.snapshots.inputs(target))?.image : undefined };
}

/** Whoever waits for something inside learns why it ended. */
async function tellWaiting(
  context: WorkContext,
  sandbox: Sandbox,
  target: Id<'snapshot'>,
  signal: AbortSignal,
): Promise<void> {
  const driver = context.driver(sandbox.driver);
  const guest = await driver.guest?.(keyOf(sandbox), signal).catch(() => undefined);
  guest?.close(new CaissonError('rollback_in_progress', `ended by the rollback of ${sandbox.id} to ${target}`));
}
