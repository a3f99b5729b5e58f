import { CaissonError } from '@caisson/contract';
import type { EngineFacts } from './engine-facts.ts';

/** Storage drivers of engines that limit a container's files, whatever they lie on. */
const sure: ReadonlySet<string> = new Set(['btrfs', 'zfs', 'devicemapper']);
/** Those that can when the filesystem below counts by project, which nobody tells: it is tried. */
const perhaps: ReadonlySet<string> = new Set(['overlay2', 'overlay', 'vfs']);
/** What an engine says that cannot. */
const refusalForm = /storage-opt|storage option|quota/i;

/** Whether an engine limits the disk of a container: some never say, and are found out by the first that asks for it. */
export class DiskLimit {
  #isProven: boolean | undefined;

  holds({ storageDriver }: EngineFacts): boolean {
    return sure.has(storageDriver) || this.#isProven === true;
  }

  /**
   * Makes a container with its limit where that may be had. Docker's btrfs counts what the image has too, so that comes on
   * top of what was asked for.
   */
  async apply(
    facts: EngineFacts,
    wanted: { readonly diskMiB: number | undefined; imageBytes(): Promise<number> },
    make: (storage: Record<string, unknown>) => Promise<void>,
  ): Promise<void> {
    const { storageDriver, backingFilesystem } = facts;
    const isOpen = perhaps.has(storageDriver) && backingFilesystem === 'xfs' && this.#isProven !== false;
    if (wanted.diskMiB === undefined || !(sure.has(storageDriver) || isOpen)) return make({});
    const image = storageDriver === 'btrfs' ? Math.ceil((await wanted.imageBytes()) / 1024 ** 2) : 0;
    try {
      await make({ StorageOpt: { size: `${wanted.diskMiB + image}m` } });
      this.#isProven = true;
    } catch (error) {
      if (sure.has(storageDriver) || !isRefusal(error)) throw error;
      this.#isProven = false;
      await make({});
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof CaissonError && error.code === 'driver_failed' && refusalForm.test(error.message);
}
