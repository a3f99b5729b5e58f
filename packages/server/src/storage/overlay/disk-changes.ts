import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import { copyTree, makeChanges, makeRoot, treeBytes } from '../layered/changes-folder.ts';
import type { ChangesStore, Limit } from '../layered/changes-store.ts';
import { removeTree } from '../layered/host-command.ts';
import { isMounted, unmount } from '../layered/mounts.ts';
import { roomOf } from '../layered/room.ts';
import { type PoolHealth, poolState, type Still, type StorageProbe } from '../storage.ts';
import { makeDisk, minQuotaBytes, mountDisk, resizeDisk } from './quota-disk.ts';

/**
 * Changes on any filesystem: a plain folder, or where there is a limit a disk in a file, mounted. A snapshot is a copy of
 * them, so it costs what changed.
 *
 *   rootfs/<sandbox>/   changes/{upper,work}, and disk.ext4 where there is a limit
 *   snapshots/<id>/     upper
 *   templates/          empty filesystems to copy
 */
export class DiskChanges implements ChangesStore {
  readonly name = 'overlay';
  readonly capabilities = { snapshotCost: 'changed-files', ownDisk: true, quota: true } as const;
  readonly minLimitBytes = minQuotaBytes;
  readonly limitsDetached = true;
  readonly pool: string;
  readonly #host: HostClient;
  /** Two that look at one sandbox at once get one mount. */
  readonly #attaching = new Map<string, Promise<string>>();

  constructor(options: { readonly pool: string; readonly host: HostClient }) {
    this.pool = options.pool;
    this.#host = options.host;
  }

  async open(): Promise<void> {}

  async probe(): Promise<StorageProbe> {
    return { usable: true, detail: 'overlay mounts; the limit of a sandbox is a filesystem of its own' };
  }

  async health(): Promise<PoolHealth> {
    const room = await roomOf(this.pool);
    return { state: poolState(room.totalBytes, room.freeBytes), ...room, detail: `the disk below ${this.pool}` };
  }

  async make(holding: string, limit: number | null): Promise<void> {
    await mkdir(join(holding, 'changes'), { recursive: true });
    if (limit === null) await makeChanges(join(holding, 'changes'));
    else await makeDisk(this.#host, this.pool, join(holding, 'disk.ext4'), limit);
  }

  async copy(snapshot: string, holding: string, { bytes }: Limit, signal: AbortSignal): Promise<number> {
    await this.make(holding, bytes);
    const changes = join(holding, 'changes');
    if (bytes !== null) await mountDisk(this.#host, join(holding, 'disk.ext4'), changes);
    try {
      if (bytes === null) await removeTree(this.#host, join(changes, 'upper'));
      await copyTree(this.#host, join(snapshot, 'upper'), join(changes, 'upper'), signal);
    } finally {
      if (bytes !== null) await this.#host.unmount(changes);
    }
    return 0;
  }

  async freeze(sandbox: string, holding: string, still: Still, signal: AbortSignal): Promise<number> {
    const upper = join(sandbox, 'changes', 'upper');
    await still(() => copyTree(this.#host, upper, join(holding, 'upper'), signal));
    return 0;
  }

  async adopt(holding: string, fill: (upper: string) => Promise<void>): Promise<void> {
    await makeRoot(join(holding, 'upper'));
    await fill(join(holding, 'upper'));
  }

  attach(holding: string): Promise<string> {
    const under = this.#attaching.get(holding);
    if (under) return under;
    const attaching = this.#attach(holding).finally(() => this.#attaching.delete(holding));
    this.#attaching.set(holding, attaching);
    return attaching;
  }

  async #attach(holding: string): Promise<string> {
    const [changes, disk] = [join(holding, 'changes'), join(holding, 'disk.ext4')];
    if (existsSync(disk) && !(await isMounted(changes))) await mountDisk(this.#host, disk, changes);
    await makeChanges(changes);
    return changes;
  }

  async detach(holding: string): Promise<void> {
    await unmount(this.#host, join(holding, 'changes'));
  }

  show<T>(holding: string, use: (upper: string) => Promise<T>): Promise<T> {
    return use(this.#upper(holding));
  }

  async limit(holding: string, from: number | null, { bytes }: Limit): Promise<number | null> {
    if (from === null) {
      if (bytes === null) return null;
      throw new CaissonError('quota_not_available', 'it was made without a limit and cannot be given one');
    }
    // What was made on a disk of its own stays there; without a limit it may grow to what the pool has.
    const wanted = bytes ?? (await this.health()).totalBytes;
    await resizeDisk(this.#host, join(holding, 'disk.ext4'), from, wanted);
    return wanted;
  }

  async usedBytes(holding: string, signal: AbortSignal): Promise<number> {
    return treeBytes(this.#host, this.#upper(holding), signal);
  }

  async remove(holding: string): Promise<void> {
    await removeTree(this.#host, holding);
  }

  async recover(): Promise<readonly string[]> {
    return [];
  }

  #upper(holding: string): string {
    const upper = join(holding, 'upper');
    return existsSync(upper) ? upper : join(holding, 'changes', 'upper');
  }
}
