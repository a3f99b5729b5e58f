import type { HostClient } from '@caisson/guest';
import { LayeredStorage } from '../layered/layered-storage.ts';
import { DatasetChanges } from './dataset-changes.ts';
import { realZfs, type ZfsCommand } from './zfs-command.ts';

/** Storage on zfs, in datasets below one that somebody made for it. */
export class ZfsStorage extends LayeredStorage {
  constructor(options: {
    readonly pool: string;
    readonly dataset: string;
    readonly mounts: string;
    readonly host: HostClient;
    readonly command?: ZfsCommand;
  }) {
    const { command = realZfs(options.host) } = options;
    super({ ...options, store: new DatasetChanges({ ...options, command }) });
  }
}
