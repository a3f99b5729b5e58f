import { constants } from 'node:fs';
import { access, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError, type Id, newId } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import { SharedTurns } from '../../turns/shared-turns.ts';
import { Turns } from '../../turns/turns.ts';
import { PoolRoom } from '../pool-room.ts';
import type {
  AdoptRequest,
  CloneRequest,
  ImageLayers,
  PoolHealth,
  PrepareRequest,
  Rootfs,
  Storage,
  StorageCapabilities,
  StorageListing,
  StorageProbe,
  TreeView,
  Usage,
} from '../storage.ts';
import { alreadyStill } from '../storage.ts';
import type { ChangesStore } from './changes-store.ts';
import { JoinedTrees } from './joined-trees.ts';
import { unmountBelow } from './mounts.ts';
import { asStorageError, PoolFolder } from './pool-folder.ts';
import { PoolRanges } from './pool-ranges.ts';
import { type Recipe, readRecipe, readRecipeIfThere, recipeOf, writeRecipe } from './recipe.ts';
import { SpareHolding } from './spare-holding.ts';

/**
 * The image's layers below, the sandbox's changes above, joined by an overlay mount. Where the changes are kept, and what
 * a snapshot of them costs, is the matter of a `ChangesStore`.
 *
 *   rootfs/<sandbox>/   recipe.json and the changes
 *   snapshots/<id>/     the same of a snapshot
 *
 * Mounts do not outlive the machine; `prepare` makes them again, and everything else asks for it.
 */
export class LayeredStorage implements Storage {
  readonly name: string;
  readonly capabilities: StorageCapabilities;
  readonly #host: HostClient;
  readonly #store: ChangesStore;
  readonly #pool: PoolFolder;
  readonly #trees: JoinedTrees;
  readonly #ranges: PoolRanges;
  /** What is made of a sandbox must not meet what removes it, nor itself. */
  readonly #turns = new Turns();
  /** What is taken from a snapshot must not meet its removal. */
  readonly #snapshots = new SharedTurns();
  readonly #room = new PoolRoom(() => this.#store.health());
  readonly #spare: SpareHolding | undefined;
  readonly #tidying = new Set<Promise<void>>();

  /** With `spare` there is an empty holding in advance, which whoever ends in order gives back by `close`. */
  constructor(options: {
    readonly store: ChangesStore;
    readonly mounts: string;
    readonly host: HostClient;
    readonly spare?: boolean;
  }) {
    const { store, mounts, host } = options;
    this.name = store.name;
    this.capabilities = store.capabilities;
    this.#host = host;
    this.#store = store;
    this.#pool = new PoolFolder(store.pool, (holding) => store.remove(holding));
    this.#trees = new JoinedTrees(host, mounts);
    this.#ranges = new PoolRanges(this.#pool);
    this.#spare = options.spare === true ? new SpareHolding(store, this.#pool) : undefined;
  }

  makeAhead(): void {
    this.#spare?.fill();
  }

  async close(): Promise<void> {
    await Promise.all(this.#tidying);
    await this.#spare?.close();
    if (await this.#trees.isEmpty()) await this.#store.close?.();
  }

  async probe(signal: AbortSignal): Promise<StorageProbe> {
    if (process.getuid?.() !== 0) return { usable: false, why: 'mounting needs root', fix: 'Run the server as root.' };
    const own = await this.#store.probe(signal);
    if (!own.usable) return own;
    const trial = join(this.#pool.path, 'trash', newId('request'));
    try {
      await this.#open();
      await this.#pool.make(trial, async (holding) => {
        await mkdir(join(holding, 'lower'));
        await this.#store.make(holding, null);
        const changes = await this.#store.attach(holding);
        await this.#trees.tryOut({ layers: [join(holding, 'lower')], changes });
        await this.#store.detach(holding);
      });
      signal.throwIfAborted();
      return own;
    } catch (error) {
      return {
        usable: false,
        why: `an overlay cannot be mounted: ${(error as Error).message}`,
        fix: 'Load the kernel module `overlay`, or use another storage.',
      };
    } finally {
      await this.#store.remove(trial);
    }
  }

  async recover(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    await this.#open();
    for (const folder of ['making', 'trash']) await unmountBelow(this.#host, join(this.#pool.path, folder));
    const strangers = await this.#trees.removeStrangers((name) => this.#pool.has(this.#pool.rootfs(name)));
    const swept = [...strangers, ...(await this.#pool.finishSwaps()), ...(await this.#pool.sweep())];
    return [...swept, ...(await this.#store.recover())];
  }

  async prepare(
    { sandbox, image, quotaBytes, ownIds, isFleeting = false }: PrepareRequest,
    signal: AbortSignal,
  ): Promise<Rootfs> {
    return this.#turns.take(sandbox, signal, async () => {
      await this.#open();
      if (!this.#pool.has(this.#pool.rootfs(sandbox))) {
        await requireLayers(image);
        await this.#room.require();
        const limit = this.#limit(quotaBytes ?? null);
        await this.#ranges.with(ownIds, (ids) =>
          this.#make({ ...recipeOf(image), sandbox, quotaBytes: limit, ids, carriedBytes: 0, isFleeting }),
        );
      }
      return this.#mount(sandbox);
    });
  }

  async snapshot(
    sandbox: Id<'sandbox'>,
    snapshot: Id<'snapshot'>,
    signal: AbortSignal,
    still = alreadyStill,
  ): Promise<void> {
    await this.#turns.take(sandbox, signal, async () => {
      await this.#open();
      if (this.#pool.has(this.#pool.snapshot(snapshot))) return;
      const recipe = await this.#requireRootfs(sandbox);
      const place = this.#pool.rootfs(sandbox);
      await this.#store.attach(place);
      await this.#pool.make(this.#pool.snapshot(snapshot), async (holding) => {
        const own = await this.#store.freeze(place, holding, still, signal);
        // Whoever gave it up has removed its record: it must not be there after all.
        signal.throwIfAborted();
        const carriedBytes = own + (recipe.carriedBytes ?? 0);
        await writeRecipe(holding, { ...recipe, ids: null, carriedBytes }, { flush: true });
      });
    });
  }

  async adopt(
    { id, sandbox, image }: AdoptRequest,
    fill: (changes: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#turns.take(id, signal, async () => {
      await this.#open();
      if (this.#pool.has(this.#pool.snapshot(id))) return;
      await requireLayers(image);
      await this.#room.require();
      await this.#pool.make(this.#pool.snapshot(id), async (holding) => {
        await this.#store.adopt(holding, fill);
        signal.throwIfAborted();
        const carriedBytes = await this.#store.usedBytes(holding, signal);
        const recipe = { ...recipeOf(image), sandbox, quotaBytes: null, ids: null, carriedBytes };
        await writeRecipe(holding, recipe, { flush: true });
      });
    });
  }

  async rollback(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<Rootfs> {
    return this.#turns.take(sandbox, signal, () =>
      this.#snapshots.share(snapshot, signal, async () => {
        await this.#open();
        const from = await this.#requireSnapshot(snapshot);
        const { quotaBytes, ids } = await this.#requireRootfs(sandbox);
        const place = this.#pool.rootfs(sandbox);
        // The new tree is whole before the old one goes: killed in between, the old one still stands.
        const fresh = `${place}.next`;
        await this.#pool.discard(fresh);
        await this.#copy(snapshot, { ...from, sandbox, quotaBytes, ids }, fresh, signal);
        await this.#unmount(sandbox, { later: true });
        const old = await this.#pool.swap(fresh, place);
        const rootfs = await this.#mount(sandbox);
        this.#tidy(old);
        return rootfs;
      }),
    );
  }

  async clone(from: Id<'snapshot'>, to: CloneRequest, signal: AbortSignal): Promise<Rootfs> {
    const { sandbox, quotaBytes = null, ownIds } = to;
    return this.#turns.take(sandbox, signal, () =>
      this.#snapshots.share(from, signal, async () => {
        await this.#open();
        const recipe = await this.#requireSnapshot(from);
        const place = this.#pool.rootfs(sandbox);
        if (!this.#pool.has(place)) {
          await this.#room.require();
          await this.#ranges.with(ownIds, (ids) =>
            this.#copy(from, { ...recipe, sandbox, quotaBytes: this.#limit(quotaBytes), ids }, place, signal),
          );
        }
        return this.#mount(sandbox);
      }),
    );
  }

  async view<T>(
    of: Id<'sandbox'> | Id<'snapshot'>,
    use: (view: TreeView) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    await this.#open();
    const show = (recipe: Recipe, holding: string) =>
      this.#store.show(holding, (upper) => this.#trees.show(recipe, upper, use));
    const place = this.#pool.rootfs(of);
    if (!this.#pool.has(place)) {
      const snapshot = this.#pool.snapshot(of);
      return this.#snapshots.share(of, signal, async () => show(await this.#requireSnapshot(of), snapshot));
    }
    await this.#turns.take(of, signal, () => this.#store.attach(place));
    return show(await this.#requireRootfs(of), place);
  }

  async usage(
    of: Id<'sandbox'> | Id<'snapshot'>,
    signal: AbortSignal,
    { recent = false }: { readonly recent?: boolean } = {},
  ): Promise<Usage> {
    signal.throwIfAborted();
    await this.#open();
    const snapshot = this.#pool.snapshot(of);
    if (this.#pool.has(snapshot))
      return { exclusiveBytes: await this.#store.usedBytes(snapshot, signal), quotaBytes: null };
    const { quotaBytes } = await this.#requireRootfs(of);
    const place = this.#pool.rootfs(of);
    await this.#turns.take(of, signal, () => this.#store.attach(place));
    return { exclusiveBytes: await this.#store.usedBytes(place, signal, recent), quotaBytes };
  }

  async quota(sandbox: Id<'sandbox'>, bytes: number | null, signal: AbortSignal): Promise<void> {
    await this.#turns.take(sandbox, signal, async () => {
      await this.#open();
      const recipe = await this.#requireRootfs(sandbox);
      const place = this.#pool.rootfs(sandbox);
      if (this.#store.limitsDetached) await this.#unmount(sandbox);
      const wanted = { bytes: this.#limit(bytes), carriedBytes: recipe.carriedBytes ?? 0 };
      try {
        const quotaBytes = await this.#store.limit(place, recipe.quotaBytes, wanted);
        await writeRecipe(place, { ...recipe, quotaBytes });
      } finally {
        await this.#mount(sandbox);
      }
    });
  }

  async destroy(sandbox: Id<'sandbox'>, signal: AbortSignal): Promise<void> {
    await this.#turns.take(sandbox, signal, async () => {
      await this.#open();
      const place = this.#pool.rootfs(sandbox);
      const recipe = await readRecipeIfThere(place);
      await this.#unmount(sandbox);
      await this.#pool.discard(place);
      await this.#pool.discard(`${place}.next`);
      // Only now: while its files are there, the range is theirs.
      if (recipe?.ids) await this.#ranges.release(recipe.ids);
    });
  }

  async removeSnapshot(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    await this.#snapshots.alone(snapshot, signal, async () => {
      await this.#open();
      await this.#pool.discard(this.#pool.snapshot(snapshot));
    });
  }

  async list(signal: AbortSignal): Promise<StorageListing> {
    signal.throwIfAborted();
    await this.#open();
    const sandboxes = (await this.#pool.list('rootfs')).filter((name) => !name.endsWith('.next'));
    const snapshots = await this.#pool.list('snapshots');
    return { sandboxes: sandboxes as Id<'sandbox'>[], snapshots: snapshots as Id<'snapshot'>[] };
  }

  /** Things are made from each other while this looks: it ends when a look has found nothing new. */
  async images(signal: AbortSignal): Promise<readonly ImageLayers[]> {
    await this.#open();
    const found = new Map<string, ImageLayers | undefined>();
    for (let known = -1; known < found.size; ) {
      known = found.size;
      for (const place of await this.#pool.places()) {
        signal.throwIfAborted();
        if (!found.has(place)) found.set(place, await readRecipeIfThere(place));
      }
    }
    return [...found.values()].filter((image) => image !== undefined);
  }

  async health(signal: AbortSignal): Promise<PoolHealth> {
    signal.throwIfAborted();
    await this.#open();
    return this.#store.health();
  }

  async #open(): Promise<void> {
    await this.#store.open();
    await this.#pool.open();
  }

  #limit(bytes: number | null): number | null {
    return bytes === null ? null : Math.max(this.#store.minLimitBytes, bytes);
  }

  async #make(recipe: Recipe): Promise<void> {
    const { sandbox, quotaBytes } = recipe;
    const place = this.#pool.rootfs(sandbox);
    const spare = quotaBytes === null ? undefined : await this.#spare?.take(quotaBytes);
    if (spare !== undefined) return this.#useSpare(spare, recipe, place);
    await this.#pool.make(place, async (holding) => {
      await writeRecipe(holding, recipe);
      await this.#store.make(holding, quotaBytes);
    });
  }

  async #useSpare(spare: string, recipe: Recipe, place: string): Promise<void> {
    try {
      await writeRecipe(spare, recipe);
      await rename(spare, place);
    } catch (error) {
      await this.#spare?.discard(spare);
      throw asStorageError(error);
    }
  }

  async #copy(from: Id<'snapshot'>, recipe: Recipe, place: string, signal: AbortSignal): Promise<void> {
    const limit = { bytes: recipe.quotaBytes, carriedBytes: recipe.carriedBytes ?? 0 };
    await this.#pool.make(place, async (holding) => {
      const carriedBytes = await this.#store.copy(this.#pool.snapshot(from), holding, limit, signal);
      await writeRecipe(holding, { ...recipe, carriedBytes });
    });
  }

  /** Deletes what is in the trash while nobody waits. What cannot be deleted now is when the server starts again. */
  #tidy(trash: string): void {
    const tidying = this.#store
      .remove(trash)
      .catch(() => {})
      .finally(() => this.#tidying.delete(tidying));
    this.#tidying.add(tidying);
  }

  async #mount(sandbox: Id<'sandbox'>): Promise<Rootfs> {
    const recipe = await this.#requireRootfs(sandbox);
    return this.#trees.mount(sandbox, recipe, () => this.#store.attach(this.#pool.rootfs(sandbox)));
  }

  async #unmount(sandbox: Id<'sandbox'>, options: { readonly later?: boolean } = {}): Promise<void> {
    await this.#trees.unmount(sandbox, options);
    await this.#store.detach(this.#pool.rootfs(sandbox));
  }

  async #requireRootfs(sandbox: string): Promise<Recipe> {
    const place = this.#pool.rootfs(sandbox);
    if (this.#pool.has(place)) return readRecipe(place);
    throw new CaissonError('storage_failed', `there is no root filesystem of ${sandbox}`);
  }

  async #requireSnapshot(snapshot: string): Promise<Recipe> {
    const place = this.#pool.snapshot(snapshot);
    if (this.#pool.has(place)) return readRecipe(place);
    throw new CaissonError('snapshot_not_found', `there is no snapshot ${snapshot}`);
  }
}

async function requireLayers({ layers, digest }: ImageLayers): Promise<void> {
  if (layers.length === 0) throw new CaissonError('image_not_found', `there are no layers of ${digest}`);
  for (const layer of layers) {
    await access(layer, constants.R_OK).catch(() => {
      throw new CaissonError('image_not_found', `the layer ${layer} of ${digest} is not there`);
    });
  }
}
