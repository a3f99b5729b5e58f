import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaissonError } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import { makeChanges } from '../layered/changes-folder.ts';
import type { ChangesStore, Limit } from '../layered/changes-store.ts';
import { isMounted, unmount } from '../layered/mounts.ts';
import { type PoolHealth, poolState, type Still, type StorageProbe } from '../storage.ts';
import { Datasets } from './datasets.ts';
import type { ZfsCommand } from './zfs-command.ts';

/**
 * Changes on zfs: a dataset for each holding, mounted at its `changes`; the file `dataset` names it and is there before it.
 * The limit is `refquota`, which counts all that the changes refer to, whoever wrote it.
 */
export class DatasetChanges implements ChangesStore {
  readonly name = 'zfs';
  readonly capabilities = { snapshotCost: 'constant', ownDisk: true, quota: true } as const;
  /** The least in which a dataset has room for a file. */
  readonly minLimitBytes = 4 * 1024 * 1024;
  readonly limitsDetached = false;
  readonly pool: string;
  readonly #host: HostClient;
  readonly #command: ZfsCommand;
  readonly #datasets: Datasets;
  readonly #parent: string;
  readonly #viewers = new Map<string, number>();

  constructor(options: {
    readonly pool: string;
    readonly dataset: string;
    readonly host: HostClient;
    readonly command: ZfsCommand;
  }) {
    this.pool = options.pool;
    this.#host = options.host;
    this.#command = options.command;
    this.#parent = options.dataset;
    this.#datasets = new Datasets(options.command, options.dataset);
  }

  async open(): Promise<void> {}

  async probe(): Promise<StorageProbe> {
    try {
      await this.#datasets.room();
      return { usable: true, detail: `zfs datasets with refquota below ${this.#parent}` };
    } catch (error) {
      return {
        usable: false,
        why: `the dataset ${this.#parent} cannot be used: ${(error as Error).message}`,
        fix: `Install zfsutils-linux and run \`zfs create ${this.#parent}\`, or use another storage.`,
      };
    }
  }

  async health(): Promise<PoolHealth> {
    const { totalBytes, freeBytes } = await this.#datasets.room();
    return { state: poolState(totalBytes, freeBytes), totalBytes, freeBytes, detail: `the dataset ${this.#parent}` };
  }

  async make(holding: string, limit: number | null): Promise<void> {
    await this.#datasets.create(await this.#name(holding), limit);
    await this.attach(holding);
    await this.detach(holding);
  }

  async copy(snapshot: string, holding: string, { bytes }: Limit): Promise<number> {
    const moment = await this.#datasets.snapshot(await datasetOf(snapshot));
    await this.#datasets.copy(moment, await this.#name(holding), { limit: bytes, readOnly: false });
    return 0;
  }

  /** What was written lately goes to the disk before the sandbox has to be still. */
  async freeze(sandbox: string, holding: string, still: Still): Promise<number> {
    const from = await datasetOf(sandbox);
    await this.#datasets.settle(from);
    const moment = await still(() => this.#datasets.snapshot(from));
    await this.#datasets.copy(moment, await this.#name(holding), { limit: null, readOnly: true });
    return 0;
  }

  async adopt(holding: string, fill: (upper: string) => Promise<void>): Promise<void> {
    const name = await this.#name(holding);
    await this.#datasets.create(name, null);
    const changes = await this.attach(holding);
    try {
      await fill(join(changes, 'upper'));
    } finally {
      await this.detach(holding);
    }
    await this.#datasets.makeReadOnly(name);
  }

  async attach(holding: string): Promise<string> {
    const changes = await this.#mount(holding);
    await makeChanges(changes);
    return changes;
  }

  async detach(holding: string): Promise<void> {
    await unmount(this.#host, join(holding, 'changes'));
  }

  /** A sandbox is mounted anyway; a snapshot while somebody looks at it. */
  async show<T>(holding: string, use: (upper: string) => Promise<T>): Promise<T> {
    const isSandbox = holding.startsWith(join(this.pool, 'rootfs'));
    this.#viewers.set(holding, (this.#viewers.get(holding) ?? 0) + 1);
    try {
      return await use(join(await this.#mount(holding), 'upper'));
    } finally {
      const left = (this.#viewers.get(holding) ?? 1) - 1;
      if (left > 0) this.#viewers.set(holding, left);
      else this.#viewers.delete(holding);
      if (left === 0 && !isSandbox) await this.detach(holding);
    }
  }

  async limit(holding: string, _from: number | null, { bytes }: Limit): Promise<number | null> {
    await this.#datasets.limit(await datasetOf(holding), bytes);
    return bytes;
  }

  /** Accounts are as of the last commit. */
  async usedBytes(holding: string): Promise<number> {
    const changes = join(holding, 'changes');
    if (await isMounted(changes)) await this.#host.sync(changes);
    return this.#datasets.usedBytes(await datasetOf(holding));
  }

  async remove(holding: string): Promise<void> {
    await unmount(this.#host, join(holding, 'changes'));
    if (existsSync(join(holding, 'dataset'))) await this.#datasets.destroy(await datasetOf(holding));
    await rm(holding, { recursive: true, force: true });
  }

  /** Datasets that no holding names. */
  async recover(): Promise<readonly string[]> {
    const holdings: string[] = [];
    for (const kind of ['rootfs', 'snapshots']) {
      for (const name of await readdir(join(this.pool, kind))) holdings.push(join(this.pool, kind, name));
    }
    const known = new Set(await Promise.all(holdings.map((holding) => datasetOf(holding).catch(() => ''))));
    const strangers = (await this.#datasets.list()).filter((name) => !known.has(name));
    for (const name of strangers) await this.#datasets.destroy(name);
    return strangers;
  }

  /** Written down before there is a dataset of this name: so nobody has to look for it. */
  async #name(holding: string): Promise<string> {
    const name = this.#datasets.newName();
    await mkdir(join(holding, 'changes'), { recursive: true });
    await writeFile(join(holding, 'dataset'), name, { mode: 0o600 });
    return name;
  }

  async #mount(holding: string): Promise<string> {
    const changes = join(holding, 'changes');
    if (await isMounted(changes)) return changes;
    await this.#command.mount(await datasetOf(holding), changes).catch(async (error: CaissonError) => {
      // Somebody else who looks mounted it meanwhile.
      if (!(await isMounted(changes))) throw error;
    });
    return changes;
  }
}

async function datasetOf(holding: string): Promise<string> {
  return (await readFile(join(holding, 'dataset'), 'utf8')).trim();
}
