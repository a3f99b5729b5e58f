import type { Id } from '@caisson/contract';

/**
 * Storage keeps the root filesystems of sandboxes and their snapshots, for drivers that do not own the filesystem.
 *
 * Vocabulary
 * - **Image**: an immutable root filesystem, named by its content digest. Storage is given its unpacked layers.
 * - **Rootfs**: the writable filesystem of one sandbox, named by the sandbox's id. It outlives instances: `stop` keeps
 *   it, `recreate` replaces it.
 * - **Ids of its own**: a rootfs may be shown with its user and group ids shifted to a range that no other rootfs has, so
 *   that root inside is nobody outside. On disk they stay as they are: snapshots and clones know of no range.
 * - **Snapshot**: a rootfs at one moment, immutable, named by its id. It outlives the sandbox it was taken of.
 * - **Changes**: what of a rootfs or a snapshot differs from its image, as an overlay keeps it in its upper folder.
 *
 * Laws
 * 1. `prepare` and `clone` are idempotent by the sandbox's id: a second call answers the same rootfs. `destroy`,
 *    `removeSnapshot` of what is not there succeed.
 * 2. Each change is all or nothing, also under `kill -9`: after a restart a thing is listed and whole, or it is not
 *    listed. What was being made or deleted is finished or removed by `recover`, and never mistaken for something live.
 * 3. A snapshot never changes, whatever is done to its rootfs, to other snapshots, or to the image.
 * 4. `rollback` gives exactly the tree of the snapshot. Later snapshots are kept.
 * 5. Space that cannot be had is `storage_full` (the pool) or `disk_quota_exceeded` (the sandbox's own limit); nothing
 *    is half-done because of it, and destroying always works.
 * 6. Every method takes a signal; aborted, it rejects soon and law 2 holds.
 * 7. What is looked at stays: a snapshot goes when its last viewer has gone, and nobody new is shown it meanwhile.
 *
 * Example
 *
 *   const rootfs = await storage.prepare({ sandbox, image, quotaBytes }, signal);
 *   // … the sandbox writes into rootfs.path …
 *   await storage.snapshot(sandbox, snapshot, signal);
 *   // … an agent breaks everything …
 *   await storage.rollback(sandbox, snapshot, signal);      // as it was
 *   await storage.clone(snapshot, { sandbox: other }, signal);
 *   await storage.destroy(sandbox, signal);                 // the snapshot and the clone live on
 */
export interface Storage {
  readonly name: string;
  readonly capabilities: StorageCapabilities;
  probe(signal: AbortSignal): Promise<StorageProbe>;
  /** Finishes or removes what a killed process left half-done. Called before anything else. */
  recover(signal: AbortSignal): Promise<readonly string[]>;
  prepare(request: PrepareRequest, signal: AbortSignal): Promise<Rootfs>;
  /**
   * The sandbox may be at work meanwhile. What must see it at one moment is done within `still`, which must not come back
   * to this sandbox's storage; everything that can be done before is done before.
   */
  snapshot(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal, still?: Still): Promise<void>;
  rollback(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<Rootfs>;
  clone(from: Id<'snapshot'>, to: CloneRequest, signal: AbortSignal): Promise<Rootfs>;
  /**
   * Shows a tree while `use` runs. A snapshot is as it was taken; a sandbox may be at work, and where storage can only show
   * it as it changes, files may come and go under the viewer.
   */
  view<T>(of: Id<'sandbox'> | Id<'snapshot'>, use: (view: TreeView) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Makes a snapshot of changes that `fill` writes into an empty folder: one that was taken elsewhere. */
  adopt(snapshot: AdoptRequest, fill: (changes: string) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** With `recent` it may be that of some seconds ago, and costs nobody anything. */
  usage(
    of: Id<'sandbox'> | Id<'snapshot'>,
    signal: AbortSignal,
    options?: { readonly recent?: boolean },
  ): Promise<Usage>;
  /** Changes the limit of a live rootfs. `null` removes it. `quota_not_available` where it cannot be enforced. */
  quota(sandbox: Id<'sandbox'>, bytes: number | null, signal: AbortSignal): Promise<void>;
  destroy(sandbox: Id<'sandbox'>, signal: AbortSignal): Promise<void>;
  removeSnapshot(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void>;
  list(signal: AbortSignal): Promise<StorageListing>;
  health(signal: AbortSignal): Promise<PoolHealth>;
  /** The images that its root filesystems and snapshots stand on. Absent where they stand on no layers of ours. */
  images?(signal: AbortSignal): Promise<readonly ImageLayers[]>;
  /** A moment at which nobody waits: what the next `prepare` will need may be made now. */
  makeAhead?(): void;
  /** Gives back what it holds in advance. Root filesystems stay as they are. */
  close?(): Promise<void>;
}

export interface StorageCapabilities {
  /** What a snapshot costs: the same whatever changed, or more with each changed file. */
  readonly snapshotCost: 'constant' | 'changed-files';
  /** Whether the inside sees its own limit as the size of its disk, and not all of what it shares with others. */
  readonly ownDisk: boolean;
  /** Whether a sandbox's own limit is enforced. */
  readonly quota: boolean;
}

export type StorageProbe =
  | { readonly usable: true; readonly detail: string }
  | { readonly usable: false; readonly why: string; readonly fix: string };

export interface ImageLayers {
  readonly digest: string;
  /** Folders of the unpacked layers, lowest first. */
  readonly layers: readonly string[];
  /** Folders and files of the host that it shows read-only; the layers have something to mount them on. */
  readonly binds?: readonly { readonly source: string; readonly target: string }[];
}

/** User and group ids from `first` on. */
export interface IdRange {
  readonly first: number;
  readonly count: number;
}

export interface PrepareRequest {
  readonly sandbox: Id<'sandbox'>;
  readonly image: ImageLayers;
  readonly quotaBytes?: number;
  /** Show it with ids of its own. */
  readonly ownIds?: boolean;
  /** Nobody wants it after this start of the machine: what is written to it need not reach the disk. */
  readonly isFleeting?: boolean;
}

export interface CloneRequest {
  readonly sandbox: Id<'sandbox'>;
  readonly quotaBytes?: number;
  readonly ownIds?: boolean;
}

/** Runs a step while nothing moves in the sandbox. The step is short: what can be made ready before it is. */
export type Still = <T>(step: () => Promise<T>) => Promise<T>;

/** For a sandbox that nobody works in. */
export const alreadyStill: Still = (step) => step();

export interface TreeView {
  /** The whole tree, read-only, with the ids that are on disk. */
  readonly root: string;
  /** What differs from the image: a device 0/0 hides a file, `trusted.overlay.opaque` all that a folder has below. */
  readonly changes: string;
  readonly image: ImageLayers;
}

export interface AdoptRequest {
  readonly id: Id<'snapshot'>;
  readonly sandbox: Id<'sandbox'>;
  readonly image: ImageLayers;
}

export interface Rootfs {
  readonly sandbox: Id<'sandbox'>;
  /** Where it is mounted on the host. */
  readonly path: string;
  /** The ids it is shown with; those on disk when absent. */
  readonly ids?: IdRange;
}

export interface Usage {
  /** Bytes that only this thing holds: what deleting it would give back. */
  readonly exclusiveBytes: number;
  readonly quotaBytes: number | null;
}

export interface StorageListing {
  readonly sandboxes: readonly Id<'sandbox'>[];
  readonly snapshots: readonly Id<'snapshot'>[];
}

export interface PoolHealth {
  readonly state: 'ok' | 'warn' | 'critical';
  readonly totalBytes: number;
  readonly freeBytes: number;
  readonly detail: string;
}

/** Above `warn` the pool is reported as degraded; above `critical` new sandboxes are refused. */
export const poolThresholds = { warn: 0.85, critical: 0.95 } as const;

export function poolState(totalBytes: number, freeBytes: number): PoolHealth['state'] {
  const used = totalBytes === 0 ? 1 : 1 - freeBytes / totalBytes;
  if (used >= poolThresholds.critical) return 'critical';
  return used >= poolThresholds.warn ? 'warn' : 'ok';
}
