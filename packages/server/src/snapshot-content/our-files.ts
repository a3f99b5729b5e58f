import { CaissonError, type Id } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import type { Store } from '../store/store.ts';

export interface SnapshotOrigin {
  readonly store: Store;
  readonly drivers: readonly Driver[];
}

/** Only what lies on our storage can be looked into. A backend's own snapshot is its own: the error says what to do. */
export async function requireOurFiles({ store, drivers }: SnapshotOrigin, snapshot: Id<'snapshot'>): Promise<void> {
  const inputs = await store.snapshots.inputs(snapshot);
  const driver = drivers.find(({ name }) => name === inputs?.driver);
  if (driver?.capabilities.storage !== 'backend') return;
  throw new CaissonError(
    'snapshots_not_available',
    `the files of ${snapshot} are kept by ${driver.name}: they can be restored, and neither compared nor exported`,
    {
      hint: `Look at them in a sandbox made from it: \`caisson restore ${snapshot}\`, then \`caisson exec\` or \`caisson cp\`.`,
    },
  );
}
