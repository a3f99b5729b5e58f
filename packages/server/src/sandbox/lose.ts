import { CaissonError, type Reason, type ReasonCode, type Sandbox } from '@caisson/contract';
import { withDeadline } from './deadline.ts';
import { keyOf } from './end.ts';
import type { Runner } from './runner.ts';
import type { WorkContext } from './work-context.ts';

const lostReasons: readonly ReasonCode[] = ['instance_gone', 'guest_gone', 'out_of_memory'];

/** Whether it failed because its processes ended, and not because of what it is made from: its files are as they were. */
export function isLost({ state, reason }: Pick<Sandbox, 'state' | 'reason'>): boolean {
  return state === 'failed' && reason !== null && lostReasons.includes(reason.code);
}

/**
 * Looks at the instance of a sandbox that should have one. Gone or ended, the sandbox is recorded as lost, and the reason
 * is answered; one that cannot be seen is believed to be there. No action can begin between the look and the record.
 */
export async function loseIfGone(
  context: WorkContext,
  runner: Runner,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<Reason | undefined> {
  return runner.whileIdle(sandbox.id, async () => {
    const present = await context.store.sandboxes.get(sandbox.id);
    if (present?.state !== sandbox.state || present.incarnation !== sandbox.incarnation) return undefined;
    const reason = await whyGone(context, present, signal);
    if (!reason) return undefined;
    const change = { reason, endInstance: true };
    try {
      await context.store.sandboxes.step(present, { action: 'lose', end: 'success' }, change);
    } catch (error) {
      // Another process on the same record was quicker; what it wrote counts.
      if (error instanceof CaissonError && error.code === 'state_changed') return undefined;
      throw error;
    }
    return reason;
  });
}

async function whyGone(context: WorkContext, sandbox: Sandbox, signal: AbortSignal): Promise<Reason | undefined> {
  const driver = context.driver(sandbox.driver);
  const { inspectMs } = context.deadlines;
  const seen = await withDeadline('inspecting', inspectMs, signal, (inner) =>
    driver.inspect(keyOf(sandbox), inner),
  ).catch(() => undefined);
  if (seen?.status === 'ended') return { code: seen.reason, message: seen.message };
  if (seen?.status === 'gone') return { code: 'instance_gone', message: 'its instance is no longer there' };
  return undefined;
}
