import type { PoolHealth, Still, StorageCapabilities, StorageProbe } from '../storage.ts';

/**
 * Where the changes of sandboxes and of snapshots are kept; the layers below them are folders anywhere.
 *
 * Vocabulary
 * - **Holding**: a folder of the pool, `rootfs/<sandbox>` or `snapshots/<id>`, with the recipe of one thing and its
 *   changes. It is made in `making/` and deleted in `trash/`: see `pool-folder.ts`.
 * - **Limit**: the most bytes that the changes of a sandbox may take.
 *
 * Laws
 * 1. A holding is moved by renaming its folder, whatever is in it. So what belongs to it lies in it or is named by it.
 * 2. What makes a holding fills a folder that is there and is not in its place yet; it fails or the folder is whole.
 * 3. `remove` deletes all of a holding at any stage of being made or removed, and says nothing of what is gone.
 * 4. Nobody is asked two things about one sandbox at a time.
 */
export interface ChangesStore {
  readonly name: string;
  readonly capabilities: StorageCapabilities;
  /** A smaller limit is raised to this. */
  readonly minLimitBytes: number;
  /** The folder that the holdings lie in. */
  readonly pool: string;
  /** Makes the pool reachable. Called before everything, so it is quick when it is. */
  open(): Promise<void>;
  /** Lets go of it. Called when nothing in it is mounted. */
  close?(): Promise<void>;
  probe(signal: AbortSignal): Promise<StorageProbe>;
  health(): Promise<PoolHealth>;

  /** Empty changes. */
  make(holding: string, limit: number | null): Promise<void>;
  /** The changes of a snapshot, to be written by a sandbox. Answers how many of their bytes are in no account of its own. */
  copy(snapshot: string, holding: string, limit: Limit, signal: AbortSignal): Promise<number>;
  /** The changes of a sandbox as a snapshot. Answers the bytes that the account of the sandbox has of them. */
  freeze(sandbox: string, holding: string, still: Still, signal: AbortSignal): Promise<number>;
  /** A snapshot with what is written into its upper folder. */
  adopt(holding: string, fill: (upper: string) => Promise<void>): Promise<void>;

  /** Makes the changes of a sandbox reachable: the folder with `upper` and `work`. */
  attach(holding: string): Promise<string>;
  /** Whoever still uses them may go on; after this nothing of them is mounted in the holding. */
  detach(holding: string): Promise<void>;
  /** The upper folder of a sandbox or of a snapshot, for somebody who reads while `use` runs. */
  show<T>(holding: string, use: (upper: string) => Promise<T>): Promise<T>;

  /** Whether `limit` wants the sandbox detached. */
  readonly limitsDetached: boolean;
  /** Changes the limit. Answers the one that holds from now on. */
  limit(holding: string, from: number | null, to: Limit): Promise<number | null>;
  /** With `recent` those of some seconds ago will do. */
  usedBytes(holding: string, signal: AbortSignal, recent?: boolean): Promise<number>;
  remove(holding: string): Promise<void>;
  /** Removes what belongs to no holding; after the pool has been swept. */
  recover(): Promise<readonly string[]>;
}

export interface Limit {
  readonly bytes: number | null;
  /** Bytes of the changes that are in no account of their own. */
  readonly carriedBytes: number;
}
