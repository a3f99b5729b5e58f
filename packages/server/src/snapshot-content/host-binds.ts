import { CaissonError } from '@caisson/contract';
import { hostBase } from '../images/host/host-base.ts';
import type { ImageLayers } from '../storage/storage.ts';
import type { ArchiveRecord } from './archive-record.ts';

/**
 * What a snapshot shows of the machine, here: the same places of its tree, with what this machine has for them. Never what
 * the archive says: it could name any folder of the host.
 */
export async function hostBinds(wanted: ArchiveRecord['binds']): Promise<NonNullable<ImageLayers['binds']>> {
  if (wanted.length === 0) return [];
  const { binds } = await hostBase();
  return wanted.map(({ target }) => {
    const found = binds.find((bind) => bind.target === target);
    if (found) return found;
    throw new CaissonError(
      'unsupported-os',
      `the snapshot stands on ${target} of the machine, which this one does not have`,
      {
        hint: 'Import it on a machine of the same kind, or begin from an image instead of `host`.',
      },
    );
  });
}
