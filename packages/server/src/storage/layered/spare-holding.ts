import { mkdir } from 'node:fs/promises';
import type { ChangesStore } from './changes-store.ts';
import type { PoolFolder } from './pool-folder.ts';

/**
 * One empty holding in advance, attached, of the limit that was asked for last: to make a disk or a subvolume takes longer
 * than all the rest of a root filesystem. It lies in `making/` like everything that is not in its place yet, so what a
 * killed server leaves of it is swept.
 */
export class SpareHolding {
  readonly #store: ChangesStore;
  readonly #pool: PoolFolder;
  #spare: { readonly bytes: number; readonly holding: Promise<string | undefined> } | undefined;
  #wanted: number | undefined;
  #isClosed = false;

  constructor(store: ChangesStore, pool: PoolFolder) {
    this.#store = store;
    this.#pool = pool;
  }

  /** One of this limit, which is the caller's from now on; undefined when there is none. */
  async take(bytes: number): Promise<string | undefined> {
    this.#wanted = bytes;
    const spare = this.#spare;
    this.#spare = undefined;
    const holding = await spare?.holding;
    if (holding === undefined || spare?.bytes === bytes) return holding;
    await this.discard(holding);
    return undefined;
  }

  /** Begins to make one, of the limit that was last taken. Not at once when one is taken: its taker has better to do. */
  fill(): void {
    const bytes = this.#wanted;
    if (this.#isClosed || this.#spare !== undefined || bytes === undefined) return;
    this.#spare = { bytes, holding: this.#make(bytes) };
  }

  async discard(holding: string): Promise<void> {
    await this.#store.detach(holding);
    await this.#store.remove(holding);
  }

  /** A server that ends leaves nothing mounted that no sandbox has. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const spare = this.#spare;
    // First: whoever asks meanwhile must not be given what is being removed.
    this.#spare = undefined;
    const holding = await spare?.holding;
    if (holding !== undefined) await this.discard(holding);
  }

  /** One that cannot be made is no failure: the next sandbox makes its own, and says why it cannot. */
  async #make(bytes: number): Promise<string | undefined> {
    const holding = this.#pool.draft();
    try {
      await mkdir(holding, { recursive: true, mode: 0o700 });
      await this.#store.make(holding, bytes);
      await this.#store.attach(holding);
      return holding;
    } catch {
      await this.discard(holding).catch(() => {});
      return undefined;
    }
  }
}
