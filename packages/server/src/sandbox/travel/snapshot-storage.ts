import { CaissonError, type Id, type Sandbox } from '@caisson/contract';
import { type Driver, hasAbility, type Snapshotting } from '../../drivers/driver.ts';
import type { Still, Storage } from '../../storage/storage.ts';
import { keyOf } from '../end.ts';
import type { WorkContext } from '../work-context.ts';

/** Where the files of sandboxes and their snapshots are: our own storage, or the backend of their driver. */
export interface SnapshotStorage {
  /** What must see the files at rest is done within `still`. */
  snapshot(sandbox: Sandbox, snapshot: Id<'snapshot'>, signal: AbortSignal, still: Still): Promise<void>;
  /** Of a sandbox whose processes have ended. */
  rollback(sandbox: Sandbox, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void>;
  removeSnapshot(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void>;
  /** What nothing else has of it; null where nobody can tell. */
  exclusiveBytes(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<number | null>;
}

/** Where the snapshots of a driver are, or the error that it keeps none. */
export function snapshotStorage(work: WorkContext, { driver: name }: Pick<Sandbox, 'driver'>): SnapshotStorage {
  const driver = work.driver(name);
  const storage = work.filesystems?.storage;
  const { capabilities } = driver;
  if (storage && capabilities.storage === 'ours' && capabilities.snapshots !== 'none') return inStorage(storage);
  if (isSnapshotting(driver)) return inBackend(driver);
  throw new CaissonError('snapshots_not_available', `the driver ${driver.name} keeps no snapshots`);
}

export function isSnapshotting(driver: Driver): driver is Driver & Snapshotting {
  return hasAbility(driver, 'snapshots');
}

export function inStorage(storage: Storage): SnapshotStorage {
  return {
    snapshot: (sandbox, snapshot, signal, still) => storage.snapshot(sandbox.id, snapshot, signal, still),
    async rollback(sandbox, snapshot, signal) {
      await storage.rollback(sandbox.id, snapshot, signal);
    },
    removeSnapshot: (snapshot, signal) => storage.removeSnapshot(snapshot, signal),
    exclusiveBytes: async (snapshot, signal) => (await storage.usage(snapshot, signal)).exclusiveBytes,
  };
}

function inBackend(driver: Driver & Snapshotting): SnapshotStorage {
  return {
    snapshot: (sandbox, snapshot, signal, still) => still(() => driver.snapshot(keyOf(sandbox), snapshot, signal)),
    rollback: (sandbox, snapshot, signal) => driver.rollback(keyOf(sandbox), snapshot, signal),
    removeSnapshot: (snapshot, signal) => driver.removeSnapshot(snapshot, signal),
    exclusiveBytes: async () => null,
  };
}
