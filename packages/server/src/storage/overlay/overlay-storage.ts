import type { HostClient } from '@caisson/guest';
import { LayeredStorage } from '../layered/layered-storage.ts';
import { DiskChanges } from './disk-changes.ts';

/** Storage on any filesystem. With `spare` there is a disk in advance, which whoever ends in order gives back by `close`. */
export class OverlayStorage extends LayeredStorage {
  constructor(options: {
    readonly pool: string;
    readonly mounts: string;
    readonly host: HostClient;
    readonly spare?: boolean;
  }) {
    super({ ...options, store: new DiskChanges(options) });
  }
}
