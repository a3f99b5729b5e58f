import { constants, existsSync } from 'node:fs';
import { access, chown, mkdir, readdir, rename, rm, rmdir, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CaissonError, type Id, newId } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import { makePassable } from '../../isolation/passable-folder.ts';
import { SharedTurns } from '../../turns/shared-turns.ts';
import { Turns } from '../../turns/turns.ts';
import type {
  AdoptRequest,
  CloneRequest,
  ImageLayers,
  PoolHealth,
  PrepareRequest,
  Rootfs,
  Storage,
  StorageListing,
  StorageProbe,
  TreeView,
  Usage,
} from '../storage.ts';
import { alreadyStill, poolState } from '../storage.ts';
import { hostCommand, removeTree } from './host-command.ts';
import { isMounted, unmount, unmountBelow } from './mounts.ts';
import {
  asStorageError,
  makeChanges,
  makeRoot,
  PoolFolder,
  type Recipe,
  readRecipe,
  readRecipeIfThere,
  writeRecipe,
} from './pool-folder.ts';
import { PoolRanges } from './pool-ranges.ts';
import { makeDisk, minQuotaBytes, mountDisk, resizeDisk } from './quota-disk.ts';
import { SpareDisk } from './spare-disk.ts';

/**
 * Storage on any filesystem: the image's layers below, the sandbox's changes above, joined by an overlay mount. A snapshot
 * is a copy of the changes, so it costs what changed.
 *
 *   rootfs/<sandbox>/   recipe.json, changes/{upper,work}, and disk.ext4 where there is a limit
 *   snapshots/<id>/     recipe.json, upper
 *   templates/          empty filesystems to copy
 *
 * The joined tree is mounted at `mounts/<sandbox>/root`. Root inside a sandbox is nobody outside: anybody may pass through
 * `mounts`, and through the folder in it only that one root, or every user of the machine would be in the sandbox's files
 * and sockets. Mounts do not outlive the machine; `prepare` makes them again, and everything else asks for it.
 */
export class OverlayStorage implements Storage {
  readonly name = 'overlay';
  readonly capabilities = { snapshotCost: 'changed-files', quota: true } as const;
  readonly #host: HostClient;
  readonly #pool: PoolFolder;
  readonly #mounts: string;
  readonly #mounting = new Map<string, Promise<Rootfs>>();
  /** What is made of a sandbox must not meet what removes it, nor itself. */
  readonly #turns = new Turns();
  /** What is taken from a snapshot must not meet its removal. */
  readonly #snapshots = new SharedTurns();
  readonly #spare: SpareDisk | undefined;
  readonly #ranges: PoolRanges;

  /** With `spare` there is a disk in advance, which whoever ends in order gives back by `close`. */
  constructor(options: {
    readonly pool: string;
    readonly mounts: string;
    readonly host: HostClient;
    readonly spare?: boolean;
  }) {
    this.#host = options.host;
    this.#pool = new PoolFolder(options.pool, (folder) => removeTree(options.host, folder));
    this.#mounts = options.mounts;
    this.#ranges = new PoolRanges(this.#pool);
    this.#spare = options.spare === true ? new SpareDisk(this.#host, this.#pool) : undefined;
  }

  makeAhead(): void {
    this.#spare?.fill();
  }

  async close(): Promise<void> {
    await this.#spare?.close();
  }

  async probe(signal: AbortSignal): Promise<StorageProbe> {
    if (process.getuid?.() !== 0) return { usable: false, why: 'mounting needs root', fix: 'Run the server as root.' };
    const target = join(this.#mounts, newId('request'));
    const trial = join(this.#pool.path, 'trash', newId('request'));
    try {
      await this.#pool.open();
      await makePassable(this.#mounts);
      await mkdir(target);
      await this.#pool.make(trial, async (folder) => {
        for (const name of ['lower', 'upper', 'work']) await mkdir(join(folder, name));
        const layers = [join(folder, 'lower')];
        await this.#host.mountOverlay({ layers, changes: folder, target, bindSources: [], bindTargets: [] });
        await unmount(this.#host, target);
      });
      signal.throwIfAborted();
      return { usable: true, detail: 'overlay mounts; the limit of a sandbox is a filesystem of its own' };
    } catch (error) {
      return {
        usable: false,
        why: `an overlay cannot be mounted: ${(error as Error).message}`,
        fix: 'Load the kernel module `overlay`, or use another storage.',
      };
    } finally {
      for (const path of [target, trial]) await rm(path, { recursive: true, force: true });
    }
  }

  async recover(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    await this.#pool.open();
    for (const folder of ['making', 'trash']) await unmountBelow(this.#host, join(this.#pool.path, folder));
    await this.#unmountStrangers();
    return [...(await this.#pool.finishSwaps()), ...(await this.#pool.sweep())];
  }

  /** Mounts whose root filesystem is not there any more: of a server that was killed between the two. */
  async #unmountStrangers(): Promise<void> {
    for (const name of existsSync(this.#mounts) ? await readdir(this.#mounts) : []) {
      if (!this.#pool.has(this.#pool.rootfs(name))) await this.#unmount(name as Id<'sandbox'>);
    }
  }

  async prepare(request: PrepareRequest, signal: AbortSignal): Promise<Rootfs> {
    signal.throwIfAborted();
    await this.#pool.open();
    return this.#turns.take(request.sandbox, signal, () => this.#prepare(request));
  }

  async #prepare({ sandbox, image, quotaBytes, ownIds }: PrepareRequest): Promise<Rootfs> {
    if (!this.#pool.has(this.#pool.rootfs(sandbox))) {
      await requireLayers(image);
      await this.#ranges.with(ownIds, (ids) =>
        this.#make({ ...recipeOf(image), sandbox, quotaBytes: quotaBytes ?? null, ids }),
      );
    }
    return this.#mount(sandbox);
  }

  async snapshot(
    sandbox: Id<'sandbox'>,
    snapshot: Id<'snapshot'>,
    signal: AbortSignal,
    still = alreadyStill,
  ): Promise<void> {
    signal.throwIfAborted();
    await this.#turns.take(sandbox, signal, async () => {
      if (this.#pool.has(this.#pool.snapshot(snapshot))) return;
      await this.#mount(sandbox);
      const recipe = await readRecipe(this.#pool.rootfs(sandbox));
      await this.#pool.make(this.#pool.snapshot(snapshot), async (folder) => {
        await writeRecipe(folder, { ...recipe, ids: null });
        await still(() => this.#copyTree(this.#upper(sandbox), join(folder, 'upper'), signal));
      });
    });
  }

  async adopt(
    { id, sandbox, image }: AdoptRequest,
    fill: (changes: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    await this.#pool.open();
    await this.#turns.take(id, signal, async () => {
      if (this.#pool.has(this.#pool.snapshot(id))) return;
      await requireLayers(image);
      await this.#pool.make(this.#pool.snapshot(id), async (folder) => {
        await writeRecipe(folder, { ...recipeOf(image), sandbox, quotaBytes: null, ids: null });
        await makeRoot(join(folder, 'upper'));
        await fill(join(folder, 'upper'));
        signal.throwIfAborted();
      });
    });
  }

  async rollback(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<Rootfs> {
    return this.#turns.take(sandbox, signal, () =>
      this.#snapshots.share(snapshot, signal, () => this.#rollback(sandbox, snapshot, signal)),
    );
  }

  async #rollback(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<Rootfs> {
    const { layers, binds, digest } = await this.#requireSnapshot(snapshot);
    const { quotaBytes, ids } = await this.#requireRootfs(sandbox);
    const place = this.#pool.rootfs(sandbox);
    // The new tree is whole before the old one goes: killed in between, the old one still stands.
    const fresh = `${place}.next`;
    await this.#pool.discard(fresh);
    await this.#make({ sandbox, layers, binds, digest, quotaBytes, ids }, { place: fresh, from: snapshot, signal });
    await this.#unmount(sandbox);
    await this.#pool.swap(fresh, place);
    return this.#mount(sandbox);
  }

  async clone(from: Id<'snapshot'>, to: CloneRequest, signal: AbortSignal): Promise<Rootfs> {
    const { sandbox, quotaBytes = null, ownIds } = to;
    return this.#turns.take(sandbox, signal, () =>
      this.#snapshots.share(from, signal, async () => {
        const { layers, binds, digest } = await this.#requireSnapshot(from);
        if (!this.#pool.has(this.#pool.rootfs(sandbox))) {
          await this.#ranges.with(ownIds, (ids) =>
            this.#make({ sandbox, layers, binds, digest, quotaBytes, ids }, { from, signal }),
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
    if (this.#pool.has(this.#pool.rootfs(of))) {
      await this.#turns.take(of, signal, () => this.#mount(of as Id<'sandbox'>));
      return this.#show(await this.#requireRootfs(of), this.#upper(of), use);
    }
    return this.#snapshots.share(of, signal, async () =>
      this.#show(await this.#requireSnapshot(of), join(this.#pool.snapshot(of), 'upper'), use),
    );
  }

  /** The changes as the highest of the layers, below nothing: so nobody can write. */
  async #show<T>(recipe: Recipe, changes: string, use: (view: TreeView) => Promise<T>): Promise<T> {
    const { layers, binds, digest } = recipe;
    const name = newId('request');
    const root = this.#point(name);
    await makePassable(this.#mounts);
    await makePrivate(dirname(root), 0);
    await mkdir(root);
    try {
      await this.#host.mountOverlay({ layers: [...layers, changes], target: root, ...bindsOf(recipe) });
      return await use({ root, changes, image: { digest, layers, binds } });
    } finally {
      await this.#removePoint(root);
    }
  }

  async usage(of: Id<'sandbox'> | Id<'snapshot'>, signal: AbortSignal): Promise<Usage> {
    const snapshot = this.#pool.snapshot(of);
    if (this.#pool.has(snapshot))
      return { exclusiveBytes: await this.#treeBytes(join(snapshot, 'upper'), signal), quotaBytes: null };
    const { quotaBytes } = await this.#requireRootfs(of);
    await this.#mount(of as Id<'sandbox'>);
    return { exclusiveBytes: await this.#treeBytes(this.#upper(of), signal), quotaBytes };
  }

  async quota(sandbox: Id<'sandbox'>, bytes: number | null, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const recipe = await this.#requireRootfs(sandbox);
    if (recipe.quotaBytes === null) {
      if (bytes === null) return;
      throw new CaissonError('quota_not_available', `${sandbox} was made without a limit and cannot be given one`);
    }
    // What was made on a disk of its own stays there; without a limit it may grow to what the pool has.
    const wanted = bytes === null ? (await this.health(signal)).totalBytes : atLeastMinimum(bytes);
    const place = this.#pool.rootfs(sandbox);
    await this.#unmount(sandbox);
    await resizeDisk(this.#host, join(place, 'disk.ext4'), recipe.quotaBytes, wanted);
    await writeRecipe(place, { ...recipe, quotaBytes: wanted });
    await this.#mount(sandbox);
  }

  async destroy(sandbox: Id<'sandbox'>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#turns.take(sandbox, signal, () => this.#destroy(sandbox));
  }

  async #destroy(sandbox: Id<'sandbox'>): Promise<void> {
    const place = this.#pool.rootfs(sandbox);
    const recipe = await readRecipeIfThere(place);
    await this.#unmount(sandbox);
    await this.#pool.discard(place);
    await this.#pool.discard(`${place}.next`);
    // Only now: while its files are there, the range is theirs.
    if (recipe?.ids) await this.#ranges.release(recipe.ids);
  }

  async removeSnapshot(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    await this.#snapshots.alone(snapshot, signal, () => this.#pool.discard(this.#pool.snapshot(snapshot)));
  }

  async list(signal: AbortSignal): Promise<StorageListing> {
    signal.throwIfAborted();
    await this.#pool.open();
    const sandboxes = (await this.#pool.list('rootfs')).filter((name) => !name.endsWith('.next'));
    const snapshots: StorageListing['snapshots'][number][] = [];
    for (const id of await this.#pool.list('snapshots')) {
      const recipe = await readRecipeIfThere(this.#pool.snapshot(id));
      if (recipe) snapshots.push({ id: id as Id<'snapshot'>, sandbox: recipe.sandbox as Id<'sandbox'> });
    }
    return { sandboxes: sandboxes as Id<'sandbox'>[], snapshots };
  }

  async health(signal: AbortSignal): Promise<PoolHealth> {
    signal.throwIfAborted();
    await this.#pool.open();
    const { blocks, bavail, bsize } = await statfs(this.#pool.path);
    const [totalBytes, freeBytes] = [blocks * bsize, bavail * bsize];
    return { state: poolState(totalBytes, freeBytes), totalBytes, freeBytes, detail: `overlay in ${this.#pool.path}` };
  }

  #upper(sandbox: string): string {
    return join(this.#pool.rootfs(sandbox), 'changes', 'upper');
  }

  #point(sandbox: string): string {
    return join(this.#mounts, sandbox, 'root');
  }

  async #make(
    recipe: Recipe,
    options: { place?: string; from?: Id<'snapshot'>; signal?: AbortSignal } = {},
  ): Promise<void> {
    const { place = this.#pool.rootfs(recipe.sandbox), from, signal } = options;
    const quotaBytes = recipe.quotaBytes === null ? null : atLeastMinimum(recipe.quotaBytes);
    const spare = quotaBytes === null || from !== undefined ? undefined : await this.#spare?.take(quotaBytes);
    if (spare !== undefined) return this.#useSpare(spare, { ...recipe, quotaBytes }, place);
    await this.#pool.make(place, async (folder) => {
      const changes = join(folder, 'changes');
      await mkdir(changes);
      await writeRecipe(folder, { ...recipe, quotaBytes });
      if (quotaBytes !== null) {
        const disk = join(folder, 'disk.ext4');
        await makeDisk(this.#host, join(this.#pool.path, 'templates'), disk, quotaBytes);
        if (from === undefined) return;
        await mountDisk(this.#host, disk, changes);
      }
      try {
        if (from === undefined) await makeChanges(changes);
        else await this.#copyTree(join(this.#pool.snapshot(from), 'upper'), join(changes, 'upper'), signal);
      } finally {
        if (quotaBytes !== null) await this.#host.unmount(changes);
      }
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

  /** Two that ask at once get one mount. */
  #mount(sandbox: Id<'sandbox'>): Promise<Rootfs> {
    const under = this.#mounting.get(sandbox);
    if (under) return under;
    const mounting = this.#mountNow(sandbox).finally(() => this.#mounting.delete(sandbox));
    this.#mounting.set(sandbox, mounting);
    return mounting;
  }

  async #mountNow(sandbox: Id<'sandbox'>): Promise<Rootfs> {
    const recipe = await this.#requireRootfs(sandbox);
    const { layers, quotaBytes, ids } = recipe;
    const place = this.#pool.rootfs(sandbox);
    const [changes, target] = [join(place, 'changes'), this.#point(sandbox)];
    const rootfs: Rootfs = { sandbox, path: target, ...(ids ? { ids } : {}) };
    if (await isMounted(target)) return rootfs;
    if (quotaBytes !== null && !(await isMounted(changes)))
      await mountDisk(this.#host, join(place, 'disk.ext4'), changes);
    await makeChanges(changes);
    await makePassable(this.#mounts);
    await makePrivate(dirname(target), ids?.first ?? 0);
    await mkdir(target, { recursive: true });
    await this.#host.mountOverlay({
      layers,
      changes,
      target,
      ...bindsOf(recipe),
      ...(ids ? { firstId: ids.first, count: ids.count } : {}),
    });
    return rootfs;
  }

  async #unmount(sandbox: Id<'sandbox'>): Promise<void> {
    const point = this.#point(sandbox);
    await this.#removePoint(point);
    await unmount(this.#host, join(this.#pool.rootfs(sandbox), 'changes'));
  }

  async #removePoint(point: string): Promise<void> {
    await unmount(this.#host, point);
    for (const folder of [point, dirname(point)]) {
      await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
  }

  /**
   * With everything an overlay keeps in its upper folder: owners, links, devices that hide files, attributes. By a program
   * of ours, because the sandbox may be at work in the tree: `cp` goes by paths, and a folder that becomes a link on the
   * way would lead it into the host's files.
   */
  async #copyTree(from: string, to: string, signal?: AbortSignal): Promise<void> {
    await hostCommand(this.#host, this.#host.program, ['copy', from, to], { signal });
  }

  async #treeBytes(folder: string, signal: AbortSignal): Promise<number> {
    return Number.parseInt(await hostCommand(this.#host, 'du', ['-s', '-B1', '--', folder], { signal }), 10);
  }

  async #requireRootfs(sandbox: string): Promise<Recipe> {
    const place = this.#pool.rootfs(sandbox);
    if (!existsSync(place)) throw new CaissonError('storage_failed', `there is no root filesystem of ${sandbox}`);
    return readRecipe(place);
  }

  async #requireSnapshot(snapshot: string): Promise<Recipe> {
    const place = this.#pool.snapshot(snapshot);
    if (!existsSync(place)) throw new CaissonError('snapshot_not_found', `there is no snapshot ${snapshot}`);
    return readRecipe(place);
  }
}

async function requireLayers({ layers, digest }: ImageLayers): Promise<void> {
  for (const layer of layers) {
    await access(layer, constants.R_OK).catch(() => {
      throw new CaissonError('image_not_found', `the layer ${layer} of ${digest} is not there`);
    });
  }
}

function recipeOf({ layers, digest, binds = [] }: ImageLayers): Pick<Recipe, 'layers' | 'digest' | 'binds'> {
  return { layers, digest, binds };
}

function bindsOf({ binds }: Recipe): { bindSources: string[]; bindTargets: string[] } {
  return { bindSources: binds.map(({ source }) => source), bindTargets: binds.map(({ target }) => target) };
}

function atLeastMinimum(bytes: number): number {
  return Math.max(minQuotaBytes, bytes);
}

/** A folder that one user may pass, besides root. */
async function makePrivate(folder: string, owner: number): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chown(folder, owner, owner);
}
