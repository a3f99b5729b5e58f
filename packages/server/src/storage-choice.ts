import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import type { DataFolder } from './data-folder.ts';
import { BtrfsStorage } from './storage/btrfs/btrfs-storage.ts';
import { OverlayStorage } from './storage/overlay/overlay-storage.ts';
import type { Storage } from './storage/storage.ts';
import { ZfsStorage } from './storage/zfs/zfs-storage.ts';

export const storageNames = ['auto', 'btrfs', 'overlay', 'zfs'] as const;

export interface StorageWanted {
  /** One of `storageNames`; `auto` when absent. */
  readonly name?: string | undefined;
  /** The dataset below which zfs keeps what it makes. Without one there is no zfs. */
  readonly zfsDataset?: string | undefined;
}

export interface StorageChoice {
  readonly storage: Storage;
  readonly why: string;
}

/**
 * Which storage an installation uses. What was chosen is written down in the data folder: root filesystems cannot be moved
 * from one storage to another, so an installation that has some stays with what it has.
 */
export async function chooseStorage(
  folder: DataFolder,
  runtime: string,
  host: HostClient,
  { name = 'auto', zfsDataset }: StorageWanted = {},
): Promise<StorageChoice> {
  const wanted = storageNames.find((one) => one === name);
  if (wanted === undefined) {
    throw new CaissonError('request_invalid', `there is no storage ${name}`, { context: { known: storageNames } });
  }
  const mounts = join(runtime, 'rootfs');
  const make: Record<StorageName, () => Storage> = {
    overlay: () => new OverlayStorage({ pool: folder.file('storage'), mounts, host, spare: true }),
    btrfs: () => new BtrfsStorage({ data: folder.path, pool: join(runtime, 'pool'), mounts, host, spare: true }),
    zfs: () => {
      if (zfsDataset === undefined) throw new CaissonError('request_invalid', 'zfs needs a dataset: --zfs-dataset');
      return new ZfsStorage({ pool: folder.file('zfs'), dataset: zfsDataset, mounts, host });
    },
  };
  const kept = await storageInUse(folder, make);
  if (kept !== undefined && wanted !== 'auto' && wanted !== kept) {
    throw new CaissonError('storage_failed', `the sandboxes of this installation lie on ${kept}, not on ${wanted}`, {
      hint: `Use --storage ${kept}, or destroy its sandboxes and snapshots first.`,
    });
  }
  const choice = kept
    ? { name: kept, why: 'this installation has sandboxes on it' }
    : wanted === 'auto'
      ? await bestHere(make, zfsDataset)
      : { name: wanted, why: 'it was asked for' };
  remember(folder, choice.name);
  const isUnused = choice.name !== 'btrfs' && hasBtrfs(folder);
  if (isUnused && process.getuid?.() === 0) await tidyUnused(folder.path, runtime, host);
  return { storage: make[choice.name](), why: choice.why };
}

type StorageName = Exclude<(typeof storageNames)[number], 'auto'>;

async function bestHere(
  make: Record<StorageName, () => Storage>,
  zfsDataset: string | undefined,
): Promise<{ name: StorageName; why: string }> {
  if (process.getuid?.() !== 0) return { name: 'overlay', why: 'nothing else can be tried without root' };
  const reasons: string[] = [];
  for (const name of zfsDataset === undefined ? (['btrfs'] as const) : (['zfs', 'btrfs'] as const)) {
    const storage = make[name]();
    const probe = await storage.probe(new AbortController().signal);
    if (probe.usable) return { name, why: ['it can be used here', ...reasons].join('; ') };
    reasons.push(`${name} cannot be used: ${probe.why}`);
  }
  return { name: 'overlay', why: reasons.join('; ') };
}

/**
 * A pool that was tried and not taken is nobody's: what a killed server left half-made in it would stay for ever, and so
 * would its mount. What cannot be swept now is by a later start. It gets no sandbox's mounts to see: those are the other's.
 */
async function tidyUnused(data: string, runtime: string, host: HostClient): Promise<void> {
  const places = { pool: join(runtime, 'pool'), mounts: join(runtime, 'unused') };
  const unused = new BtrfsStorage({ data, ...places, host });
  await unused.recover(new AbortController().signal).catch(() => {});
  await unused.close().catch(() => {});
}

function hasBtrfs(folder: DataFolder): boolean {
  return existsSync(folder.file('pool.btrfs')) || existsSync(folder.file('btrfs'));
}

/** The storage that has something of this installation; undefined when there is nothing yet. */
async function storageInUse(
  folder: DataFolder,
  make: Record<StorageName, () => Storage>,
): Promise<StorageName | undefined> {
  if (['rootfs', 'snapshots'].some((name) => hasEntries(join(folder.file('storage'), name)))) return 'overlay';
  const before = recall(folder);
  if (before === undefined || before === 'overlay') return undefined;
  // A pool that cannot be opened now is not given up for another one: what is in it would seem to be gone.
  if (before === 'btrfs' && !hasBtrfs(folder)) return undefined;
  const { sandboxes, snapshots } = await make[before]().list(new AbortController().signal);
  return sandboxes.length + snapshots.length > 0 ? before : undefined;
}

function hasEntries(path: string): boolean {
  return existsSync(path) && readdirSync(path).length > 0;
}

function recall(folder: DataFolder): StorageName | undefined {
  const file = folder.file('storage.json');
  if (!existsSync(file)) return undefined;
  const { storage } = JSON.parse(readFileSync(file, 'utf8')) as { storage?: string };
  return storageNames.find((name): name is StorageName => name === storage && name !== 'auto');
}

function remember(folder: DataFolder, storage: StorageName): void {
  const file = folder.file('storage.json');
  writeFileSync(`${file}.new`, `${JSON.stringify({ storage })}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
