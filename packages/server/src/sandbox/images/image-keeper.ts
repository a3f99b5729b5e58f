import type { CollectedImages } from '@caisson/contract';
import type { Driver } from '../../drivers/driver.ts';
import { type CollectLimits, collect, type ImageRoots } from '../../images/collect.ts';
import { layerOfFolder } from '../../images/digest.ts';
import { GivenImages } from '../../images/given-images.ts';
import { engineTag } from '../../images/pack/engine-archive.ts';
import type { Shelf } from '../../images/shelf.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Store } from '../../store/store.ts';
import { imaging } from '../backend-images.ts';

export interface ImageKeeperParts {
  readonly store: Store;
  readonly shelf: Shelf;
  /** Whose root filesystems stand on the layers; undefined where only engines have any. */
  readonly storage: Storage | undefined;
  readonly drivers: readonly Driver[];
  readonly limits?: Partial<CollectLimits> | undefined;
  /** What fails where nobody waits for it. */
  readonly failed?: ((error: Error) => void) | undefined;
}

/**
 * An hour: longer than any step of a build or a create that has asked for a layer and not yet said that it stands on it.
 * A week: images of last week's work are there on Monday. 20 GiB: more than a machine of an ordinary size should miss.
 */
const defaultLimits: CollectLimits = { graceMs: 3_600_000, unusedMs: 7 * 86_400_000, unusedBytes: 20 * 1024 ** 3 };

const everyMs = 3_600_000;
/** A server that is started anew each hour collects too, and none while it is busy with what it was started for. */
const firstMs = 600_000;
/** An engine that does not answer is asked again the next time. */
const engineMs = 30_000;

/** Removes images that nothing refers to, every hour and when somebody asks. One pass at a time. */
export class ImageKeeper {
  readonly #parts: ImageKeeperParts;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: ImageKeeperParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#passIn(firstMs);
  }

  #passIn(ms: number): void {
    this.#timer = setTimeout(async () => {
      await this.collect(undefined, this.#stopping.signal).catch((error: Error) => {
        if (!this.#stopping.signal.aborted) this.#parts.failed?.(error);
      });
      if (!this.#stopping.signal.aborted) this.#passIn(everyMs);
    }, ms).unref();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopping.abort();
    await this.#last;
  }

  async collect(unusedMs: number | undefined, signal: AbortSignal): Promise<CollectedImages> {
    const either = AbortSignal.any([signal, this.#stopping.signal]);
    const turn = this.#last.then(() => this.#pass(unusedMs, either));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #pass(unusedMs: number | undefined, signal: AbortSignal): Promise<CollectedImages> {
    signal.throwIfAborted();
    const { shelf, limits } = this.#parts;
    const asked = unusedMs === undefined ? {} : { unusedMs };
    const found = await collect(shelf, (inner) => this.roots(inner), { ...defaultLimits, ...limits, ...asked }, signal);
    const backendImages = await this.#collectGiven(signal);
    return { ...found, images: [...found.images], layers: found.layers.length, backendImages };
  }

  /** What sandboxes and snapshots name, and what their files stand on. */
  async roots(signal: AbortSignal): Promise<ImageRoots> {
    const { store, storage } = this.#parts;
    const images = await store.imageUses.digests(signal);
    const layers = new Set<string>();
    for (const image of (await storage?.images?.(signal)) ?? []) {
      images.add(image.digest);
      for (const folder of image.layers) layers.add(layerOfFolder(folder));
    }
    return { images, layers };
  }

  /** What an engine was given goes after the image itself; what a container of it uses, the engine keeps. */
  async #collectGiven(signal: AbortSignal): Promise<number> {
    const { shelf, drivers } = this.#parts;
    const { drafts, records, inUse } = await shelf.tools();
    const given = new GivenImages(drafts);
    const began = Date.now();
    let removed = 0;
    for (const driver of drivers) {
      const taker = imaging(driver);
      if (!taker?.removeImage) continue;
      for (const digest of await given.list(driver.name)) {
        if ((await records.look(digest)) !== undefined || !inUse.isFree(digest, began)) continue;
        const within = AbortSignal.any([signal, AbortSignal.timeout(engineMs)]);
        const isGone = await taker.removeImage(engineTag(digest), within).catch(() => false);
        if (!isGone) continue;
        await given.forget(driver.name, digest);
        removed++;
      }
    }
    return removed;
  }
}
