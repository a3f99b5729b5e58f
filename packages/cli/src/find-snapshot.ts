import { CaissonError, isId, type Snapshot } from '@caisson/contract';
import type { Caisson } from '@caisson/sdk';
import { findSandbox } from './find-sandbox.ts';

/** The snapshot that was meant: by its id, or as `<sandbox>:<name>`. */
export async function findSnapshot(caisson: Caisson, ref: string): Promise<Snapshot> {
  if (isId('snapshot', ref)) return caisson.snapshots.get(ref);
  const at = ref.lastIndexOf(':');
  if (at > 0) {
    const sandbox = await findSandbox(caisson, ref.slice(0, at));
    const { items } = await caisson.snapshots.page({ sandbox: sandbox.id, name: ref.slice(at + 1) });
    if (items[0]) return items[0];
  }
  const hint = 'Give its id, or <sandbox>:<name>; `caisson snapshots list` shows both.';
  throw new CaissonError('snapshot_not_found', `there is no snapshot ${ref}`, { hint });
}
