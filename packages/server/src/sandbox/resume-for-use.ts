import { hasCode, type Sandbox } from '@caisson/contract';
import { renewedLease } from '../leases/lease-terms.ts';
import type { Runner } from './runner.ts';
import type { WorkContext } from './work-context.ts';

/** Somebody may go on pausing it while others use it; this many rounds are an accident, more are a quarrel. */
const maxRounds = 20;

/**
 * A paused sandbox made to go on, for somebody who wants to use it. One that is being paused is waited for first, and one
 * that is being resumed is resumed once, however many wait for it. Every other state is the caller's to judge.
 */
export async function resumeForUse(
  { work, runner }: { readonly work: WorkContext; readonly runner: Runner },
  seen: Sandbox,
): Promise<Sandbox> {
  let sandbox = seen;
  for (let round = 0; round < maxRounds; round += 1) {
    if (sandbox.state === 'paused') {
      try {
        const change = { reason: null, lease: renewedLease(sandbox) };
        const operation = await runner.begin(sandbox, 'resume', 'resuming', change);
        return await operation.done;
      } catch (error) {
        // Somebody else was quicker.
        if (!hasCode(error, 'state_changed')) throw error;
      }
    } else if (sandbox.state === 'pausing' || sandbox.state === 'resuming') {
      // How it ended is read from the record.
      await runner.resume(sandbox.id).then((operation) => operation?.done.catch(() => {}));
    } else return sandbox;
    sandbox = (await work.store.sandboxes.get(sandbox.id)) ?? sandbox;
  }
  return sandbox;
}
