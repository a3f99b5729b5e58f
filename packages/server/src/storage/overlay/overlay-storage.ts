import { constants, existsSync } from 'node:fs';
import { access, mkdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError, type Id } from '@caisson/contract';
import type {
  CloneRequest,
  PoolHealth,
  PrepareRequest,
  Rootfs,
  Storage,
  StorageListing,
  StorageProbe,
  Usage,
} from '../storage.ts';
import { poolState } from '../storage.ts';
import { hostCommand } from './host-command.ts';
import { isMounted, mountOverlay, unmountBelow } from './mounts.ts';
import { PoolFolder, type Recipe, readRecipe, writeRecipe } from './pool-folder.ts';
import { makeDisk, minQuotaBytes, mountDisk, resizeDisk } from './quota-disk.ts';

/**
 * Storage on any filesystem: the image's layers below, the sandbox's changes above, joined by an overlay mount. A snapshot
 * is a copy of the changes, so it costs what changed.
 *
 *   rootfs/<sandbox>/   recipe.json, changes/{upper,work}, merged (the mount), and disk.ext4 where there is a limit
 *   snapshots/<id>/     recipe.json, upper
 *
 * Mounts do not outlive the machine; `prepare` makes them again, and everything else asks for it.
 */
export class OverlayStorage implements Storage {
  readonly name = 'overlay';
  readonly capabilities = { snapshotCost: 'changed-files', quota: true } as const;
  readonly #pool: PoolFolder;

  constructor(path: string) {
    this.#pool = new PoolFolder(path);
  }

  async probe(signal: AbortSignal): Promise<StorageProbe> {
    if (process.getuid?.() !== 0) return { usable: false, why: 'mounting needs root', fix: 'Run the server as root.' };
    try {
      await this.#pool.open();
      await this.#pool.make(join(this.#pool.path, 'trash', 'probe'), async (folder) => {
        for (const name of ['lower', 'upper', 'work', 'merged']) await mkdir(join(folder, name));
        await mountOverlay(
          [join(folder, 'lower')],
          join(folder, 'upper'),
          join(folder, 'work'),
          join(folder, 'merged'),
        );
        await unmountBelow(join(folder, 'merged'));
      });
      await this.#pool.sweep();
      signal.throwIfAborted();
      return { usable: true, detail: 'overlay mounts; the limit of a sandbox is a filesystem of its own' };
    } catch (error) {
      return {
        usable: false,
        why: `an overlay cannot be mounted: ${(error as Error).message}`,
        fix: 'Load the kernel module `overlay`, or use another storage.',
      };
    }
  }

  async recover(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    await this.#pool.open();
    for (const folder of ['making', 'trash']) await unmountBelow(join(this.#pool.path, folder));
    return [...(await this.#pool.finishSwaps()), ...(await this.#pool.sweep())];
  }

  async prepare({ sandbox, image, quotaBytes }: PrepareRequest, signal: AbortSignal): Promise<Rootfs> {
    signal.throwIfAborted();
    await this.#pool.open();
    if (!this.#pool.has(this.#pool.rootfs(sandbox))) {
      for (const layer of image.layers) {
        await access(layer, constants.R_OK).catch(() => {
          throw new CaissonError('image_not_found', `the layer ${layer} of ${image.digest} is not there`);
        });
      }
      await this.#make({ sandbox, layers: image.layers, quotaBytes: quotaBytes ?? null });
    }
    return this.#mount(sandbox);
  }

  async snapshot(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#pool.has(this.#pool.snapshot(snapshot))) return;
    await this.#mount(sandbox);
    const recipe = await readRecipe(this.#pool.rootfs(sandbox));
    await this.#pool.make(this.#pool.snapshot(snapshot), async (folder) => {
      await copyTree(this.#upper(sandbox), join(folder, 'upper'), signal);
      await writeRecipe(folder, recipe);
    });
  }

  async rollback(sandbox: Id<'sandbox'>, snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<Rootfs> {
    signal.throwIfAborted();
    const { layers } = await this.#requireSnapshot(snapshot);
    const { quotaBytes } = await this.#requireRootfs(sandbox);
    const place = this.#pool.rootfs(sandbox);
    // The new tree is whole before the old one goes: killed in between, the old one still stands.
    const fresh = `${place}.next`;
    await this.#pool.discard(fresh);
    await this.#make({ sandbox, layers, quotaBytes }, { place: fresh, from: snapshot, signal });
    await unmountBelow(place);
    await this.#pool.swap(fresh, place);
    return this.#mount(sandbox);
  }

  async clone(from: Id<'snapshot'>, to: CloneRequest, signal: AbortSignal): Promise<Rootfs> {
    signal.throwIfAborted();
    const { layers } = await this.#requireSnapshot(from);
    if (!this.#pool.has(this.#pool.rootfs(to.sandbox))) {
      await this.#make({ sandbox: to.sandbox, layers, quotaBytes: to.quotaBytes ?? null }, { from, signal });
    }
    return this.#mount(to.sandbox);
  }

  async usage(of: Id<'sandbox'> | Id<'snapshot'>, signal: AbortSignal): Promise<Usage> {
    const snapshot = this.#pool.snapshot(of);
    if (this.#pool.has(snapshot))
      return { exclusiveBytes: await treeBytes(join(snapshot, 'upper'), signal), quotaBytes: null };
    const { quotaBytes } = await this.#requireRootfs(of);
    await this.#mount(of as Id<'sandbox'>);
    return { exclusiveBytes: await treeBytes(this.#upper(of), signal), quotaBytes };
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
    await unmountBelow(place);
    await resizeDisk(join(place, 'disk.ext4'), recipe.quotaBytes, wanted);
    await writeRecipe(place, { ...recipe, quotaBytes: wanted });
    await this.#mount(sandbox);
  }

  async destroy(sandbox: Id<'sandbox'>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await unmountBelow(this.#pool.rootfs(sandbox));
    await this.#pool.discard(this.#pool.rootfs(sandbox));
    await this.#pool.discard(`${this.#pool.rootfs(sandbox)}.next`);
  }

  async removeSnapshot(snapshot: Id<'snapshot'>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#pool.discard(this.#pool.snapshot(snapshot));
  }

  async list(signal: AbortSignal): Promise<StorageListing> {
    signal.throwIfAborted();
    await this.#pool.open();
    const sandboxes = (await this.#pool.list('rootfs')).filter((name) => !name.endsWith('.next'));
    const snapshots = await Promise.all(
      (await this.#pool.list('snapshots')).map(async (id) => ({
        id: id as Id<'snapshot'>,
        sandbox: (await readRecipe(this.#pool.snapshot(id))).sandbox as Id<'sandbox'>,
      })),
    );
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

  async #make(
    recipe: Recipe,
    options: { place?: string; from?: Id<'snapshot'>; signal?: AbortSignal } = {},
  ): Promise<void> {
    const { place = this.#pool.rootfs(recipe.sandbox), from, signal } = options;
    const quotaBytes = recipe.quotaBytes === null ? null : atLeastMinimum(recipe.quotaBytes);
    await this.#pool.make(place, async (folder) => {
      const changes = join(folder, 'changes');
      await mkdir(changes);
      await mkdir(join(folder, 'merged'));
      if (quotaBytes !== null) {
        await makeDisk(join(folder, 'disk.ext4'), quotaBytes);
        await mountDisk(join(folder, 'disk.ext4'), changes);
      }
      try {
        await mkdir(join(changes, 'work'));
        if (from === undefined) await mkdir(join(changes, 'upper'), { mode: 0o755 });
        else await copyTree(join(this.#pool.snapshot(from), 'upper'), join(changes, 'upper'), signal);
      } finally {
        await unmountBelow(changes);
      }
      await writeRecipe(folder, { ...recipe, quotaBytes });
    });
  }

  async #mount(sandbox: Id<'sandbox'>): Promise<Rootfs> {
    const { layers, quotaBytes } = await this.#requireRootfs(sandbox);
    const place = this.#pool.rootfs(sandbox);
    const [changes, merged] = [join(place, 'changes'), join(place, 'merged')];
    if (!(await isMounted(merged))) {
      if (quotaBytes !== null && !(await isMounted(changes))) await mountDisk(join(place, 'disk.ext4'), changes);
      await mountOverlay(layers, join(changes, 'upper'), join(changes, 'work'), merged);
    }
    return { sandbox, path: merged };
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

function atLeastMinimum(bytes: number): number {
  return Math.max(minQuotaBytes, bytes);
}

/** With everything an overlay keeps in its upper folder: owners, links, devices that hide files, extended attributes. */
async function copyTree(from: string, to: string, signal?: AbortSignal): Promise<void> {
  await hostCommand('cp', ['-a', '--reflink=auto', '--', from, to], signal);
}

async function treeBytes(folder: string, signal: AbortSignal): Promise<number> {
  return Number.parseInt(await hostCommand('du', ['-s', '-B1', '--', folder], signal), 10);
}
