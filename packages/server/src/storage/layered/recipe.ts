import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { IdRange, ImageLayers } from '../storage.ts';

/** What must be known about a rootfs or a snapshot to mount it again. */
export interface Recipe {
  readonly sandbox: string;
  readonly digest: string;
  readonly layers: readonly string[];
  readonly binds: NonNullable<ImageLayers['binds']>;
  readonly quotaBytes: number | null;
  /** The ids it is shown with. A snapshot has none. */
  readonly ids: IdRange | null;
  /** Bytes of its changes that count against the limit and not in its own account: what it was cloned from. */
  readonly carriedBytes?: number;
  /** What is written to it need not reach the disk. It can be mounted only once. */
  readonly isFleeting?: boolean;
}

/** With `flush` it outlives a loss of power, which costs some milliseconds. */
export async function writeRecipe(folder: string, recipe: Recipe, { flush = false } = {}): Promise<void> {
  const file = join(folder, 'recipe.json');
  await writeFile(`${file}.new`, JSON.stringify(recipe), { mode: 0o600, flush });
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

/** The part of a recipe that an image gives. */
export function recipeOf({ layers, digest, binds = [] }: ImageLayers): Pick<Recipe, 'layers' | 'digest' | 'binds'> {
  return { layers, digest, binds };
}
