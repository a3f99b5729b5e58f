import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError, newId } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import { makeChanges, treeBytes } from '../layered/changes-folder.ts';
import type { ChangesStore, Limit } from '../layered/changes-store.ts';
import { hostCommand } from '../layered/host-command.ts';
import type { PoolHealth, Still, StorageProbe } from '../storage.ts';
import type { BtrfsPool } from './btrfs-pool.ts';

/**
 * Changes on btrfs: each holding has a subvolume `changes` with `upper` and `work`. Snapshots and clones are snapshots of
 * it: they cost the same whatever changed, and share what they have in common.
 *
 * The limit is one of *simple quotas*: a block counts for the subvolume that wrote it, as long as anybody holds it. So a
 * sandbox pays for what its snapshots keep, and what it was cloned from is in no account of its own: that is taken off its
 * limit instead.
 */
export class SubvolumeChanges implements ChangesStore {
  readonly name = 'btrfs';
  readonly capabilities = { snapshotCost: 'constant', ownDisk: false, quota: true } as const;
  /** The empty tree and what the filesystem keeps in reserve for one write. */
  readonly minLimitBytes = 4 * 1024 * 1024;
  readonly limitsDetached = false;
  readonly pool: string;
  readonly #host: HostClient;
  readonly #pool: BtrfsPool;

  constructor(options: { readonly pool: BtrfsPool; readonly host: HostClient }) {
    this.#pool = options.pool;
    this.pool = options.pool.folder;
    this.#host = options.host;
  }

  open(): Promise<void> {
    return this.#pool.open();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  probe(signal: AbortSignal): Promise<StorageProbe> {
    return this.#pool.probe(signal);
  }

  health(): Promise<PoolHealth> {
    return this.#pool.health();
  }

  async make(holding: string, limit: number | null): Promise<void> {
    const changes = join(holding, 'changes');
    await this.#host.createSubvolume(changes);
    await makeChanges(changes);
    if (limit !== null) await this.#host.limitQuota(changes, limit);
  }

  async copy(snapshot: string, holding: string, { bytes, carriedBytes }: Limit, signal: AbortSignal): Promise<number> {
    const [from, changes] = [join(snapshot, 'changes'), join(holding, 'changes')];
    await this.#host.snapshot(from, changes);
    if (bytes === null) return carriedBytes;
    // What was added up over many snapshots may be much more than what is there. Where that matters it is counted.
    const matters = carriedBytes > bytes / 2;
    const carried = matters ? await treeBytes(this.#host, join(from, 'upper'), signal) : carriedBytes;
    await this.#host.limitQuota(changes, this.#own(bytes, carried));
    return carried;
  }

  /**
   * What the sandbox has written lately is put on the disk by a first snapshot, which is thrown away: within the still
   * moment there is little left to do. A `sync` would wait for what everybody else has written too.
   */
  async freeze(sandbox: string, holding: string, still: Still): Promise<number> {
    const changes = join(sandbox, 'changes');
    const first = join(holding, newId('request'));
    await this.#host.snapshot(changes, first, { readOnly: true });
    const { bytes } = await this.#host.usage(changes);
    await still(() => this.#host.snapshot(changes, join(holding, 'changes'), { readOnly: true }));
    await this.#host.deleteSubvolume(first);
    return bytes;
  }

  async adopt(holding: string, fill: (upper: string) => Promise<void>): Promise<void> {
    const draft = join(holding, newId('request'));
    await this.#host.createSubvolume(draft);
    await makeChanges(draft);
    await fill(join(draft, 'upper'));
    await this.#host.snapshot(draft, join(holding, 'changes'), { readOnly: true });
    await this.#host.deleteSubvolume(draft);
  }

  async attach(holding: string): Promise<string> {
    return join(holding, 'changes');
  }

  async detach(): Promise<void> {}

  /** A sandbox may be at work: it is shown as it is now. */
  async show<T>(holding: string, use: (upper: string) => Promise<T>): Promise<T> {
    if (!holding.startsWith(join(this.pool, 'rootfs'))) return use(join(holding, 'changes', 'upper'));
    const shown = join(this.pool, 'making', newId('request'));
    await this.#host.snapshot(join(holding, 'changes'), shown, { readOnly: true });
    try {
      return await use(join(shown, 'upper'));
    } finally {
      await this.#host.deleteSubvolume(shown);
    }
  }

  async limit(holding: string, _from: number | null, { bytes, carriedBytes }: Limit): Promise<number | null> {
    await this.#host.limitQuota(join(holding, 'changes'), bytes === null ? undefined : this.#own(bytes, carriedBytes));
    return bytes;
  }

  /** Accounts are as of the last commit. */
  async usedBytes(holding: string, signal: AbortSignal, recent = false): Promise<number> {
    const upper = join(holding, 'changes', 'upper');
    if (holding.startsWith(join(this.pool, 'snapshots'))) return exclusiveBytes(this.#host, upper, signal);
    // One that is being made will be carried as a whole by what is cloned from it.
    if (!holding.startsWith(join(this.pool, 'rootfs'))) return treeBytes(this.#host, upper, signal);
    if (!recent) await this.#host.sync(this.pool);
    return (await this.#host.usage(join(holding, 'changes'))).bytes;
  }

  /** All that a sandbox wrote is in subvolumes; what is left without them is ours. */
  async remove(holding: string): Promise<void> {
    const names = await readdir(holding).catch(() => []);
    for (const path of [...names.map((name) => join(holding, name)), holding]) {
      if (await isSubvolume(path)) await this.#host.deleteSubvolume(path);
    }
    await rm(holding, { recursive: true, force: true });
    await this.#pool.reclaim();
  }

  async recover(): Promise<readonly string[]> {
    return [];
  }

  #own(bytes: number, carriedBytes: number): number {
    return Math.max(this.minLimitBytes, bytes - carriedBytes);
  }
}

/**
 * What nobody else holds of a snapshot. Its account is empty, because it wrote nothing: only the extents of its files tell.
 * What is so small that it lies in the tree itself counts for nothing, and what others removed counts from the next commit on.
 */
async function exclusiveBytes(host: HostClient, folder: string, signal: AbortSignal): Promise<number> {
  const said = await hostCommand(host, 'btrfs', ['filesystem', 'du', '-s', '--raw', folder], { signal });
  const bytes = /^\s*\d+\s+(\d+)\s/m.exec(said)?.[1];
  if (bytes === undefined) throw new CaissonError('storage_failed', 'btrfs does not say what a snapshot holds alone');
  return Number.parseInt(bytes, 10);
}

/** The number that btrfs gives to the root of every subvolume, and to nothing else. */
const subvolumeInode = 256;

async function isSubvolume(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isDirectory() === true && found.ino === subvolumeInode;
}
