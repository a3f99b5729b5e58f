import { CaissonError, hasCode, isId, type Snapshot } from '@caisson/contract';
import type { Caisson } from '@caisson/sdk';
import { findSandbox } from './find-sandbox.ts';

/** The snapshot that was meant: by its id, or as `<sandbox>:<name>`. */
export async function findSnapshot(caisson: Caisson, ref: string): Promise<Snapshot> {
  if (isId('snapshot', ref)) return caisson.snapshots.get(ref);
  const at = ref.lastIndexOf(':');
  if (at > 0) {
    const sandbox = await findSandbox(caisson, ref.slice(0, at)).catch((cause) => {
      if (!hasCode(cause, 'sandbox_not_found')) throw cause;
      // Its name is free as soon as it is destroyed, and its snapshots stay.
      const hint = 'One that is gone goes by its id: `caisson snapshots list` shows it, and those of the snapshots.';
      throw new CaissonError('sandbox_not_found', cause.message, { cause, hint });
    });
    const { items } = await caisson.snapshots.page({ sandbox: sandbox.id, name: ref.slice(at + 1) });
    if (items[0]) return items[0];
  }
  const hint = 'Give its id, or <sandbox>:<name>; `caisson snapshots list` shows both.';
  throw new CaissonError('snapshot_not_found', `there is no snapshot ${ref}`, { hint });
}
