import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError, newId } from '@caisson/contract';

/**
 * The folders of the pool, and how things come and go in them.
 *
 * Law: a thing is made in `making/` and moved to its place when it is whole; it is moved to `trash/` before it is deleted.
 * A move is one step for the filesystem, so what stands in its place is whole, whenever the process was killed; what is
 * left in the other two is nobody's, and `sweep` deletes it.
 */
export class PoolFolder {
  readonly path: string;
  readonly #remove: (holding: string) => Promise<void>;

  constructor(path: string, remove: (holding: string) => Promise<void>) {
    this.path = path;
    this.#remove = remove;
  }

  async open(): Promise<void> {
    for (const name of ['rootfs', 'snapshots', 'making', 'trash']) {
      const folder = join(this.path, name);
      if (!existsSync(folder)) await mkdir(folder, { recursive: true, mode: 0o700 });
    }
  }

  rootfs(sandbox: string): string {
    return join(this.path, 'rootfs', sandbox);
  }

  snapshot(snapshot: string): string {
    return join(this.path, 'snapshots', snapshot);
  }

  has(place: string): boolean {
    return existsSync(place);
  }

  /** A name for something that is being made. */
  draft(): string {
    return join(this.path, 'making', newId('request'));
  }

  /** Makes a folder whole, then puts it in its place. What fails leaves nothing. */
  async make(place: string, fill: (folder: string) => Promise<void>): Promise<void> {
    const draft = this.draft();
    await mkdir(draft, { recursive: true, mode: 0o700 });
    try {
      await fill(draft);
      await rename(draft, place);
    } catch (error) {
      await this.#remove(draft);
      throw asStorageError(error);
    }
  }

  /**
   * Takes a folder out of its place at once, then deletes it. A pool may be so full that it has no room for the move: then
   * it is deleted where it stands, its recipe first, without which nobody takes it for whole.
   */
  async discard(place: string): Promise<void> {
    const trash = join(this.path, 'trash', newId('request'));
    try {
      await rename(place, trash);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return;
      if (code !== 'ENOSPC') throw error;
      await rm(join(place, 'recipe.json'), { force: true });
      return this.#remove(place);
    }
    await this.#remove(trash);
  }

  /**
   * Puts the new thing in the place of the old one. Between the two moves the place is empty and `.next` is whole: a
   * process killed there is followed by `recover`, which makes the second move. Answers where the old thing is now, which
   * the caller deletes.
   */
  async swap(next: string, place: string): Promise<string> {
    const trash = join(this.path, 'trash', newId('request'));
    await rename(place, trash);
    await rename(next, place);
    return trash;
  }

  /** Finishes the swaps that were cut short between their two moves; drops the new things whose old ones still stand. */
  async finishSwaps(): Promise<string[]> {
    const found = (await this.list('rootfs')).filter((name) => name.endsWith('.next'));
    for (const name of found) {
      const place = this.rootfs(name.slice(0, -'.next'.length));
      if (this.has(place)) await this.discard(this.rootfs(name));
      else await rename(this.rootfs(name), place);
    }
    return found.map((name) => `rootfs/${name}`);
  }

  /** Deletes what a killed process left half-made or half-deleted; answers what that was. */
  async sweep(): Promise<string[]> {
    const swept: string[] = [];
    for (const folder of ['making', 'trash']) {
      for (const name of await readdir(join(this.path, folder))) {
        await this.#remove(join(this.path, folder, name));
        swept.push(`${folder}/${name}`);
      }
    }
    return swept;
  }

  /** Where root filesystems and snapshots stand. */
  async places(): Promise<string[]> {
    const [rootfs, snapshots] = [await this.list('rootfs'), await this.list('snapshots')];
    return [...rootfs.map((name) => this.rootfs(name)), ...snapshots.map((name) => this.snapshot(name))];
  }

  list(kind: 'rootfs' | 'snapshots'): Promise<string[]> {
    return readdir(join(this.path, kind));
  }
}

/** What the filesystem says when there is no room left, in our words. */
export function asStorageError(error: unknown): unknown {
  const { code, errno } = error as NodeJS.ErrnoException;
  // Node has no name for EDQUOT.
  if (code !== 'ENOSPC' && errno !== -122) return error;
  return new CaissonError('storage_full', 'there is no room left where the sandboxes lie', { cause: error });
}
