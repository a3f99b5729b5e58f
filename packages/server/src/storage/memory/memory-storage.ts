import { join } from 'node:path';
import { CaissonError, type Id } from '@caisson/contract';
import { FaultPlan } from '../../faults/fault-plan.ts';
import { SharedTurns } from '../../turns/shared-turns.ts';
import type {
  AdoptRequest,
  CloneRequest,
  ImageLayers,
  PoolHealth,
  PrepareRequest,
  Rootfs,
  Storage,
  StorageListing,
  StorageProbe,
  TreeView,
  Usage,
} from '../storage.ts';
import { alreadyStill, poolState } from '../storage.ts';
import { readChanges, type Tree, withFolder, writeChanges, writeTree } from './tree-folder.ts';

/** Storage without a disk, for everything above storage: it keeps the laws of `storage.ts`, and breaks where told to. */
export type MemoryStep =
  | 'prepare.before'
  | 'prepare.after'
  | 'snapshot.before'
  | 'snapshot.after'
  | 'rollback.before'
  | 'rollback.after'
  | 'clone.before'
  | 'clone.after'
  | 'view.before'
  | 'adopt.before'
  | 'adopt.after'
  | 'usage.before'
  | 'quota.before'
  | 'destroy.before'
  | 'destroy.after'
  | 'removeSnapshot.before'
  | 'list.before'
  | 'health.before';

interface MemoryRootfs {
  image: ImageLayers;
  files: Map<string, string>;
  quotaBytes: number | null;
}

interface MemorySnapshot {
  readonly image: ImageLayers;
  readonly sandbox: Id<'sandbox'>;
  readonly files: Tree;
}

/** What outlives the process. Two storages over one pool are the server before and after a restart. */
export class MemoryPool {
  readonly images = new Map<string, Tree>();
  readonly rootfs = new Map<Id<'sandbox'>, MemoryRootfs>();
  readonly snapshots = new Map<Id<'snapshot'>, MemorySnapshot>();
  totalBytes = 100_000_000;

  usedBytes(): number {
    const trees = [...this.rootfs.values(), ...this.snapshots.values()];
    return trees.reduce((sum, tree) => sum + sizeOf(tree.files), 0);
  }
}

function sizeOf(files: Tree): number {
  let bytes = 0;
  for (const [path, content] of files) bytes += path.length + content.length;
  return bytes;
}

export class MemoryStorage implements Storage {
  readonly name = 'memory';
  readonly capabilities = { snapshotCost: 'changed-files', ownDisk: true, quota: true } as const;
  readonly faults = new FaultPlan<MemoryStep>('storage_failed');
  readonly pool: MemoryPool;
  readonly #snapshots = new SharedTurns();

  constructor(pool: MemoryPool = new MemoryPool()) {
    this.pool = pool;
  }

  async probe(): Promise<StorageProbe> {
    return { usable: true, detail: 'keeps everything in memory; for tests' };
  }

  async recover(): Promise<readonly string[]> {
    return [];
  }

  async prepare({ sandbox, image, quotaBytes }: PrepareRequest, signal: AbortSignal): Promise<Rootfs> {
    await this.faults.pass('prepare.before', signal);
    if (!this.pool.rootfs.has(sandbox)) {
      this.#add(sandbox, { image, files: this.#requireImage(image) }, quotaBytes);
    }
    await this.faults.pass('prepare.after', signal, () => this.pool.rootfs.delete(sandbox));
    return this.#rootfs(sandbox);
  }

  async snapshot(
    sandbox: Id<'sandbox'>,
    snapshot: Id<'snapshot'>,
    signal: AbortSignal,
    still = alreadyStill,
  ): Promise<void> {
    await this.faults.pass('snapshot.before', signal, () => this.pool.rootfs.delete(sandbox));
    if (this.pool.snapshots.has(snapshot)) return;
    await still(async () => {
      const { image, files } = this.#require(sandbox);
      this.#reserve(sizeOf(files));
      this.pool.snapshots.set(snapshot, { sandbox, image, files: new Map(files) });
    });
    await this.faults.pass('snapshot.after', signal, () => this.pool.snapshots.delete(snapshot));
  }

  async adopt(
    { id, sandbox, image }: AdoptRequest,
    fill: (changes: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.faults.pass('adopt.before', signal);
    if (this.pool.snapshots.has(id)) return;
    const base = this.#requireImage(image);
    const files = await withFolder(async (folder) => {
      await fill(folder);
      return readChanges(folder, base);
    });
    signal.throwIfAborted();
    this.#reserve(sizeOf(files));
    this.pool.snapshots.set(id, { sandbox, image, files });
    await this.faults.pass('adopt.after', signal, () => this.pool.snapshots.delete(id));
  }

  async rollback(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<Rootfs> {
    await this.faults.pass('rollback.before', signal, () => this.pool.snapshots.delete(snapshot));
    const from = this.#requireSnapshot(snapshot);
    Object.assign(this.#require(sandbox), { image: from.image, files: new Map(from.files) });
    await this.faults.pass('rollback.after', signal, () => this.pool.rootfs.delete(sandbox));
    return this.#rootfs(sandbox);
  }

  async clone(from: Id<'snapshot'>, to: CloneRequest, signal: AbortSignal): Promise<Rootfs> {
    await this.faults.pass('clone.before', signal, () => this.pool.snapshots.delete(from));
    if (!this.pool.rootfs.has(to.sandbox)) this.#add(to.sandbox, this.#requireSnapshot(from), to.quotaBytes);
    await this.faults.pass('clone.after', signal, () => this.pool.rootfs.delete(to.sandbox));
    return this.#rootfs(to.sandbox);
  }

  async view<T>(
    of: Id<'sandbox'> | Id<'snapshot'>,
    use: (view: TreeView) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    await this.faults.pass('view.before', signal);
    return this.#snapshots.share(of, signal, async () => {
      const { image, files } = this.pool.rootfs.get(of as Id<'sandbox'>) ?? this.#requireSnapshot(of as Id<'snapshot'>);
      return withFolder(async (folder) => {
        const [root, changes] = [join(folder, 'root'), join(folder, 'changes')];
        await writeTree(root, files);
        await writeChanges(changes, this.#requireImage(image), files);
        return use({ root, changes, image });
      });
    });
  }

  async usage(of: Id<'sandbox'> | Id<'snapshot'>, signal: AbortSignal): Promise<Usage> {
    await this.faults.pass('usage.before', signal);
    const snapshot = this.pool.snapshots.get(of as Id<'snapshot'>);
    if (snapshot) return { exclusiveBytes: sizeOf(snapshot.files), quotaBytes: null };
    const { files, quotaBytes } = this.#require(of as Id<'sandbox'>);
    return { exclusiveBytes: sizeOf(files), quotaBytes };
  }

  async quota(sandbox: Id<'sandbox'>, bytes: number | null, signal: AbortSignal): Promise<void> {
    await this.faults.pass('quota.before', signal);
    this.#require(sandbox).quotaBytes = bytes;
  }

  async destroy(sandbox: Id<'sandbox'>, signal: AbortSignal): Promise<void> {
    await this.faults.pass('destroy.before', signal);
    this.pool.rootfs.delete(sandbox);
    await this.faults.pass('destroy.after', signal);
  }

  async removeSnapshot(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    await this.faults.pass('removeSnapshot.before', signal);
    await this.#snapshots.alone(snapshot, signal, async () => this.pool.snapshots.delete(snapshot));
  }

  async list(signal: AbortSignal): Promise<StorageListing> {
    await this.faults.pass('list.before', signal);
    return { sandboxes: [...this.pool.rootfs.keys()], snapshots: [...this.pool.snapshots.keys()] };
  }

  async health(signal: AbortSignal): Promise<PoolHealth> {
    await this.faults.pass('health.before', signal);
    const { totalBytes } = this.pool;
    const freeBytes = Math.max(0, totalBytes - this.pool.usedBytes());
    return { state: poolState(totalBytes, freeBytes), totalBytes, freeBytes, detail: 'memory' };
  }

  /** Stands in for a program in the sandbox that writes a file; the limits answer as a filesystem would. */
  write(sandbox: Id<'sandbox'>, path: string, content: string): void {
    const rootfs = this.#require(sandbox);
    const next = new Map(rootfs.files).set(path, content);
    if (rootfs.quotaBytes !== null && sizeOf(next) > rootfs.quotaBytes) {
      throw new CaissonError('disk_quota_exceeded', `the limit of ${sandbox} is ${rootfs.quotaBytes} bytes`);
    }
    this.#reserve(sizeOf(next) - sizeOf(rootfs.files));
    rootfs.files = next;
  }

  read(sandbox: Id<'sandbox'>): Record<string, string> {
    return Object.fromEntries(this.#require(sandbox).files);
  }

  remove(sandbox: Id<'sandbox'>, path: string): void {
    this.#require(sandbox).files.delete(path);
  }

  #add(
    sandbox: Id<'sandbox'>,
    { image, files }: { readonly image: ImageLayers; readonly files: Tree },
    quotaBytes: number | undefined,
  ): void {
    this.#reserve(sizeOf(files));
    this.pool.rootfs.set(sandbox, { image, files: new Map(files), quotaBytes: quotaBytes ?? null });
  }

  #reserve(bytes: number): void {
    if (this.pool.usedBytes() + bytes > this.pool.totalBytes) throw new CaissonError('storage_full');
  }

  #rootfs(sandbox: Id<'sandbox'>): Rootfs {
    return { sandbox, path: `memory:${sandbox}` };
  }

  #requireImage({ digest }: ImageLayers): Tree {
    const files = this.pool.images.get(digest);
    if (files === undefined) throw new CaissonError('image_not_found', `there is no image ${digest}`);
    return files;
  }

  #require(sandbox: Id<'sandbox'>): MemoryRootfs {
    const rootfs = this.pool.rootfs.get(sandbox);
    if (rootfs === undefined) throw new CaissonError('storage_failed', `there is no root filesystem of ${sandbox}`);
    return rootfs;
  }

  #requireSnapshot(snapshot: Id<'snapshot'>): MemorySnapshot {
    const found = this.pool.snapshots.get(snapshot);
    if (found === undefined) throw new CaissonError('snapshot_not_found', `there is no snapshot ${snapshot}`);
    return found;
  }
}
