import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError, newId } from '@caisson/contract';
import type { IdRange, ImageLayers } from '../storage.ts';

/**
 * The folders of the pool, and how things come and go in them.
 *
 * Law: a thing is made in `making/` and moved to its place when it is whole; it is moved to `trash/` before it is deleted.
 * A move is one step for the filesystem, so what stands in its place is whole, whenever the process was killed; what is
 * left in the other two is nobody's, and `sweep` deletes it.
 */
export class PoolFolder {
  readonly path: string;
  readonly #remove: (folder: string) => Promise<void>;

  constructor(path: string, removeTree: (folder: string) => Promise<void>) {
    this.path = path;
    this.#remove = removeTree;
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

  /** Takes a folder out of its place at once, then deletes it. */
  async discard(place: string): Promise<void> {
    const trash = join(this.path, 'trash', newId('request'));
    try {
      await rename(place, trash);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    await this.#remove(trash);
  }

  /**
   * Puts the new thing in the place of the old one. Between the two moves the place is empty and `.next` is whole: a
   * process killed there is followed by `recover`, which makes the second move.
   */
  async swap(next: string, place: string): Promise<void> {
    const trash = join(this.path, 'trash', newId('request'));
    await rename(place, trash);
    await rename(next, place);
    await this.#remove(trash);
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

  list(kind: 'rootfs' | 'snapshots'): Promise<string[]> {
    return readdir(join(this.path, kind));
  }
}

/** What must be known about a rootfs or a snapshot to mount it again. */
export interface Recipe {
  readonly sandbox: string;
  readonly digest: string;
  readonly layers: readonly string[];
  readonly binds: NonNullable<ImageLayers['binds']>;
  readonly quotaBytes: number | null;
  /** The ids it is shown with. A snapshot has none. */
  readonly ids: IdRange | null;
}

export async function writeRecipe(folder: string, recipe: Recipe): Promise<void> {
  const file = join(folder, 'recipe.json');
  await writeFile(`${file}.new`, JSON.stringify(recipe), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

export async function readRecipe(folder: string): Promise<Recipe> {
  const recipe = JSON.parse(await readFile(join(folder, 'recipe.json'), 'utf8')) as Recipe;
  // Early recipes did not name their image.
  return { ...recipe, digest: recipe.digest ?? '' };
}

/** The same for a folder that may have been discarded since, or whose recipe a crash of the machine has spoilt. */
export async function readRecipeIfThere(folder: string): Promise<Recipe | undefined> {
  return readRecipe(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  });
}

/** The two folders that an overlay needs. */
export async function makeChanges(changes: string): Promise<void> {
  if (!existsSync(join(changes, 'work'))) await mkdir(join(changes, 'work'), { recursive: true, mode: 0o700 });
  await makeRoot(join(changes, 'upper'));
}

/**
 * The upper folder is the root of the tree as it is seen. It gets its name when it has its mode: a killed process leaves no
 * root that only root may enter.
 */
export async function makeRoot(upper: string): Promise<void> {
  if (existsSync(upper)) return;
  const draft = `${upper}.new`;
  await mkdir(draft, { recursive: true });
  await chmod(draft, 0o755);
  await rename(draft, upper);
}

/** What the filesystem says when there is no room left, in our words. */
export function asStorageError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new CaissonError('storage_full', 'there is no room left where the sandboxes lie', { cause: error });
}
