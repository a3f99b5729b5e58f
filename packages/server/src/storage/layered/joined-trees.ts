import { existsSync } from 'node:fs';
import { chown, mkdir, readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Id, newId } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import { makePassable } from '../../isolation/passable-folder.ts';
import type { Rootfs, TreeView } from '../storage.ts';
import { isMounted, unmount } from './mounts.ts';
import type { Recipe } from './recipe.ts';

/**
 * Layers and changes as one tree, each at `<name>/root` below one folder. Root inside a sandbox is nobody outside: anybody
 * may pass through that folder, and through the one in it only that one root, or every user of the machine would be in the
 * sandbox's files and sockets.
 */
export class JoinedTrees {
  readonly #host: HostClient;
  readonly #folder: string;

  constructor(host: HostClient, folder: string) {
    this.#host = host;
    this.#folder = folder;
  }

  /** The tree of a sandbox, to be written. Its changes are asked for only when it is not mounted. */
  async mount(sandbox: Id<'sandbox'>, recipe: Recipe, attach: () => Promise<string>): Promise<Rootfs> {
    const { layers, ids, isFleeting = false } = recipe;
    const target = this.#point(sandbox);
    const rootfs: Rootfs = { sandbox, path: target, ...(ids ? { ids } : {}) };
    if (await isMounted(target)) return rootfs;
    const changes = await attach();
    await this.#makePoint(target, ids?.first ?? 0);
    await this.#host.mountOverlay({
      layers,
      changes,
      target,
      ...bindsOf(recipe),
      ...(ids ? { firstId: ids.first, count: ids.count } : {}),
      ...(isFleeting ? { isVolatile: true } : {}),
    });
    return rootfs;
  }

  async unmount(name: string, options: { readonly later?: boolean } = {}): Promise<void> {
    const point = this.#point(name);
    await unmount(this.#host, point, options);
    for (const folder of [point, dirname(point)]) {
      await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
  }

  /** The changes are the highest of the layers here, below nothing: so nobody can write. */
  async show<T>(recipe: Recipe, changes: string, use: (view: TreeView) => Promise<T>): Promise<T> {
    const { layers, binds, digest } = recipe;
    return this.#withPoint(async (root) => {
      await this.#host.mountOverlay({ layers: [...layers, changes], target: root, ...bindsOf(recipe) });
      return use({ root, changes, image: { digest, layers, binds } });
    });
  }

  /** Whether this machine can do it at all. */
  async tryOut(tree: { readonly layers: readonly string[]; readonly changes: string }): Promise<void> {
    await this.#withPoint((target) => this.#host.mountOverlay({ ...tree, target, bindSources: [], bindTargets: [] }));
  }

  /** Undoes what nobody knows: of a server that was killed, or that was showing something. */
  async removeStrangers(isKnown: (name: string) => boolean): Promise<string[]> {
    const strangers = (existsSync(this.#folder) ? await readdir(this.#folder) : []).filter((name) => !isKnown(name));
    for (const name of strangers) await this.unmount(name);
    return strangers;
  }

  /** Whether nothing is mounted. */
  async isEmpty(): Promise<boolean> {
    return !existsSync(this.#folder) || (await readdir(this.#folder)).length === 0;
  }

  async #withPoint<T>(use: (point: string) => Promise<T>): Promise<T> {
    const name = newId('request');
    try {
      await this.#makePoint(this.#point(name), 0);
      return await use(this.#point(name));
    } finally {
      await this.unmount(name);
    }
  }

  #point(name: string): string {
    return join(this.#folder, name, 'root');
  }

  /** Below a folder that one user may pass, besides root. */
  async #makePoint(point: string, owner: number): Promise<void> {
    await makePassable(this.#folder);
    await mkdir(dirname(point), { recursive: true, mode: 0o700 });
    await chown(dirname(point), owner, owner);
    await mkdir(point, { recursive: true });
  }
}

function bindsOf({ binds }: Recipe): { bindSources: string[]; bindTargets: string[] } {
  return { bindSources: binds.map(({ source }) => source), bindTargets: binds.map(({ target }) => target) };
}
