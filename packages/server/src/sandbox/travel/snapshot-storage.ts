import { CaissonError, type Sandbox } from '@caisson/contract';
import type { Storage } from '../../storage/storage.ts';
import type { WorkContext } from '../work-context.ts';

/** Where the files of a sandbox and its snapshots are, or the error that its driver keeps none. */
export function snapshotStorage(work: WorkContext, { driver: name }: Pick<Sandbox, 'driver'>): Storage {
  const driver = work.driver(name);
  const storage = work.filesystems?.storage;
  if (storage && driver.capabilities.storage === 'ours' && driver.capabilities.snapshots !== 'none') return storage;
  throw new CaissonError('snapshots_not_available', `the driver ${driver.name} keeps no snapshots`);
}
