import { CaissonError, type Id } from '@caisson/contract';
import { FaultPlan } from '../../faults/fault-plan.ts';
import type {
  CloneRequest,
  PoolHealth,
  PrepareRequest,
  Rootfs,
  Storage,
  StorageListing,
  StorageProbe,
  Usage,
} from '../storage.ts';
import { poolState } from '../storage.ts';

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
  | 'usage.before'
  | 'quota.before'
  | 'destroy.before'
  | 'destroy.after'
  | 'removeSnapshot.before'
  | 'list.before'
  | 'health.before';

type Tree = ReadonlyMap<string, string>;

interface MemoryRootfs {
  files: Map<string, string>;
  quotaBytes: number | null;
}

interface MemorySnapshot {
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
  readonly capabilities = { snapshotCost: 'changed-files', quota: true } as const;
  readonly faults = new FaultPlan<MemoryStep>('storage_failed');
  readonly pool: MemoryPool;

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
      const files = this.pool.images.get(image.digest);
      if (files === undefined) throw new CaissonError('image_not_found', `there is no image ${image.digest}`);
      this.#add(sandbox, files, quotaBytes);
    }
    await this.faults.pass('prepare.after', signal, () => this.pool.rootfs.delete(sandbox));
    return this.#rootfs(sandbox);
  }

  async snapshot(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    await this.faults.pass('snapshot.before', signal, () => this.pool.rootfs.delete(sandbox));
    if (this.pool.snapshots.has(snapshot)) return;
    const { files } = this.#require(sandbox);
    this.#reserve(sizeOf(files));
    this.pool.snapshots.set(snapshot, { sandbox, files: new Map(files) });
    await this.faults.pass('snapshot.after', signal, () => this.pool.snapshots.delete(snapshot));
  }

  async rollback(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<Rootfs> {
    await this.faults.pass('rollback.before', signal, () => this.pool.snapshots.delete(snapshot));
    const from = this.#requireSnapshot(snapshot);
    this.#require(sandbox).files = new Map(from.files);
    await this.faults.pass('rollback.after', signal, () => this.pool.rootfs.delete(sandbox));
    return this.#rootfs(sandbox);
  }

  async clone(from: Id<'snapshot'>, to: CloneRequest, signal: AbortSignal): Promise<Rootfs> {
    await this.faults.pass('clone.before', signal, () => this.pool.snapshots.delete(from));
    if (!this.pool.rootfs.has(to.sandbox)) this.#add(to.sandbox, this.#requireSnapshot(from).files, to.quotaBytes);
    await this.faults.pass('clone.after', signal, () => this.pool.rootfs.delete(to.sandbox));
    return this.#rootfs(to.sandbox);
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
    this.pool.snapshots.delete(snapshot);
  }

  async list(signal: AbortSignal): Promise<StorageListing> {
    await this.faults.pass('list.before', signal);
    const snapshots = [...this.pool.snapshots].map(([id, { sandbox }]) => ({ id, sandbox }));
    return { sandboxes: [...this.pool.rootfs.keys()], snapshots };
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

  #add(sandbox: Id<'sandbox'>, files: Tree, quotaBytes: number | undefined): void {
    this.#reserve(sizeOf(files));
    this.pool.rootfs.set(sandbox, { files: new Map(files), quotaBytes: quotaBytes ?? null });
  }

  #reserve(bytes: number): void {
    if (this.pool.usedBytes() + bytes > this.pool.totalBytes) throw new CaissonError('storage_full');
  }

  #rootfs(sandbox: Id<'sandbox'>): Rootfs {
    return { sandbox, path: `memory:${sandbox}` };
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
