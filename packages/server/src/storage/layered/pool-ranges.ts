import { CaissonError } from '@caisson/contract';
import { IdRanges } from '../id-ranges.ts';
import type { IdRange } from '../storage.ts';
import type { PoolFolder } from './pool-folder.ts';
import { readRecipeIfThere } from './recipe.ts';

/** Which ranges of ids the root filesystems of a pool have. Their recipes say so; this only remembers it. */
export class PoolRanges {
  readonly #pool: PoolFolder;
  #ranges: Promise<IdRanges> | undefined;

  constructor(pool: PoolFolder) {
    this.#pool = pool;
  }

  /** Makes something that takes a range of ids, where one is wanted; what fails gives it back. */
  async with(wanted: boolean | undefined, make: (ids: IdRange | null) => Promise<void>): Promise<void> {
    if (wanted !== true) return make(null);
    const ranges = await this.#open();
    const ids = ranges.take();
    if (!ids) throw new CaissonError('storage_full', 'every range of user ids is taken');
    try {
      await make(ids);
    } catch (error) {
      ranges.release(ids);
      throw error;
    }
  }

  async release(ids: IdRange): Promise<void> {
    (await this.#open()).release(ids);
  }

  #open(): Promise<IdRanges> {
    this.#ranges ??= this.#read().catch((error) => {
      this.#ranges = undefined;
      throw error;
    });
    return this.#ranges;
  }

  async #read(): Promise<IdRanges> {
    const ranges = new IdRanges(this.#pool.path);
    for (const name of await this.#pool.list('rootfs')) {
      const recipe = await readRecipeIfThere(this.#pool.rootfs(name));
      if (recipe?.ids) ranges.mark(recipe.ids);
    }
    return ranges;
  }
}
