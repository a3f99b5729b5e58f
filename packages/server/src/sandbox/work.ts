import { type ActionName, CaissonError, type Sandbox } from '@caisson/contract';
import type { Driver, Pausing } from '../drivers/driver.ts';
import type { StepChange } from '../store/sandboxes.ts';
import { withDeadline } from './deadline.ts';
import { end, haltOrEnd, keyOf, removeFilesystem } from './end.ts';
import { launchSomewhere } from './failover.ts';
import { launch } from './launch.ts';
import { rollback } from './travel/rollback.ts';
import type { WorkContext } from './work-context.ts';

/**
 * What each action does between entering its last transient state and its end. Every one may be run again from the start:
 * that is how an action goes on after the server was killed in the middle of it. It answers what changes in the record.
 */
type Work = (context: WorkContext, sandbox: Sandbox, signal: AbortSignal) => Promise<StepChange>;

export const work: Partial<Record<ActionName, Work>> = {
  create: launchSomewhere,
  async recreate(context, sandbox, signal) {
    await context.stillness.take(sandbox.id, signal, async (own) => {
      await end(context, keyOf(sandbox, -1), sandbox, own);
      // Of an earlier try of this same action: it must not go on with the filesystem that is replaced now.
      await end(context, keyOf(sandbox), sandbox, own);
      await removeFilesystem(context, sandbox, own);
    });
    return launch(context, sandbox, signal);
  },
  start: (context, sandbox, signal) =>
    context.stillness.take(sandbox.id, signal, async (own) => {
      // What is left of one that failed is not its image.
      if (sandbox.persistence !== 'persistent') {
        await end(context, keyOf(sandbox), sandbox, own);
        await removeFilesystem(context, sandbox, own);
      }
      return launch(context, sandbox, own);
    }),
  async stop(context, sandbox, signal) {
    await context.stillness.take(sandbox.id, signal, async (own) => {
      await haltOrEnd(context, keyOf(sandbox), sandbox, own);
      if (sandbox.persistence !== 'persistent') await removeFilesystem(context, sandbox, own);
    });
    return { endInstance: true };
  },
  async pause(context, sandbox, signal) {
    const driver = context.driver(sandbox.driver);
    await context.stillness.take(sandbox.id, signal, (own) =>
      withDeadline('pausing', context.deadlines.endMs, own, (inner) => pausing(driver).pause(keyOf(sandbox), inner)),
    );
    // Why it stands still is worth keeping when nobody asked for it.
    return sandbox.reason?.code === 'idle' || sandbox.reason?.code === 'expired' ? {} : { reason: null };
  },
  async resume(context, sandbox, signal) {
    const driver = context.driver(sandbox.driver);
    await context.stillness.take(sandbox.id, signal, (own) =>
      withDeadline('resuming', context.deadlines.endMs, own, (inner) => pausing(driver).resume(keyOf(sandbox), inner)),
    );
    return { reason: null };
  },
  rollback,
  async destroy(context, sandbox, signal) {
    // A snapshot that is being taken would be of processes that are let go on, to die.
    const reason = new CaissonError('sandbox_destroying', `${sandbox.id} is being destroyed`);
    await context.stillness.takeOver(sandbox.id, signal, reason, async () => {
      await end(context, keyOf(sandbox), sandbox, signal);
      if (sandbox.incarnation > 1) await end(context, keyOf(sandbox, -1), sandbox, signal);
      await removeFilesystem(context, sandbox, signal);
    });
    return { endInstance: true, endAttempt: { state: 'cancelled' } };
  },
};

/** The driver as one that can pause, or the error that it cannot. */
export function pausing(driver: Driver): Driver & Pausing {
  if (driver.pause && driver.resume) return driver as Driver & Pausing;
  throw new CaissonError('pause_not_available', `the driver ${driver.name} cannot pause`);
}
