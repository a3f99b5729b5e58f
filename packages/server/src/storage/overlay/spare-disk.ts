import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostClient } from '@caisson/guest';
import { makeChanges } from '../layered/changes-folder.ts';
import type { Spare } from '../layered/changes-store.ts';
import { unmount } from '../layered/mounts.ts';
import type { PoolFolder } from '../layered/pool-folder.ts';
import { makeDisk, mountDisk } from './quota-disk.ts';

/**
 * One empty disk in advance, mounted, of the size that was asked for last: to copy and mount one takes longer than all the
 * rest of a root filesystem. It lies in `making/` like everything that is not in its place yet, so what a killed server
 * leaves of it is swept.
 */
export class SpareDisk implements Spare {
  readonly #host: HostClient;
  readonly #pool: PoolFolder;
  #spare: { readonly bytes: number; readonly folder: Promise<string | undefined> } | undefined;
  #wanted: number | undefined;
  #isClosed = false;

  constructor(host: HostClient, pool: PoolFolder) {
    this.#host = host;
    this.#pool = pool;
  }

  /** A folder with a mounted disk of this size, which is the caller's from now on; undefined when there is none. */
  async take(bytes: number): Promise<string | undefined> {
    this.#wanted = bytes;
    const spare = this.#spare;
    this.#spare = undefined;
    const folder = await spare?.folder;
    if (folder === undefined || spare?.bytes === bytes) return folder;
    await this.discard(folder);
    return undefined;
  }

  /** Begins to make one, of the size that was last taken. Not at once when one is taken: its taker has better to do. */
  fill(): void {
    const bytes = this.#wanted;
    if (this.#isClosed || this.#spare !== undefined || bytes === undefined) return;
    this.#spare = { bytes, folder: this.#make(bytes) };
  }

  async discard(folder: string): Promise<void> {
    await unmount(this.#host, join(folder, 'changes'));
    await rm(folder, { recursive: true, force: true });
  }

  /** A server that ends leaves nothing mounted that no sandbox has. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const spare = this.#spare;
    // First: whoever asks meanwhile must not be given what is being removed.
    this.#spare = undefined;
    const folder = await spare?.folder;
    if (folder !== undefined) await this.discard(folder);
  }

  /** One that cannot be made is no failure: the next sandbox makes its own, and says why it cannot. */
  async #make(bytes: number): Promise<string | undefined> {
    const folder = this.#pool.draft();
    try {
      await mkdir(join(folder, 'changes'), { recursive: true, mode: 0o700 });
      const disk = join(folder, 'disk.ext4');
      await makeDisk(this.#host, this.#pool.path, disk, bytes);
      await mountDisk(this.#host, disk, join(folder, 'changes'));
      await makeChanges(join(folder, 'changes'));
      return folder;
    } catch {
      await this.discard(folder).catch(() => {});
      return undefined;
    }
  }
}
