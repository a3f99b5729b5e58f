import type { HostClient } from '@caisson/guest';
import { LayeredStorage } from '../layered/layered-storage.ts';
import { BtrfsPool } from './btrfs-pool.ts';
import { SubvolumeChanges } from './subvolume-changes.ts';

/** Storage on btrfs: of the data folder, or of a pool in a file there, which is mounted at `pool`. */
export class BtrfsStorage extends LayeredStorage {
  constructor(options: {
    readonly data: string;
    readonly pool: string;
    readonly mounts: string;
    readonly host: HostClient;
    readonly firstBytes?: number;
    readonly spare?: boolean;
    readonly mostBytes?: number;
  }) {
    const { pool: mount, host } = options;
    super({ ...options, store: new SubvolumeChanges({ pool: new BtrfsPool({ ...options, mount }), host }) });
  }
}
