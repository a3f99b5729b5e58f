import { existsSync, statfsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';
import { makePassable } from '../../isolation/passable-folder.ts';
import { hostCommand } from '../layered/host-command.ts';
import { loopDeviceOf, resizeFile, untilLetGo } from '../layered/loop-file.ts';
import { isMounted, unmount } from '../layered/mounts.ts';
import { type Room, roomOf } from '../layered/room.ts';
import { fillText } from '../pool-room.ts';
import { type PoolHealth, poolState, type StorageProbe } from '../storage.ts';
import { firstSize, isShort, largerSize } from './pool-size.ts';

/** What statfs(2) calls btrfs. */
const btrfsType = 0x9123683e;

/**
 * Seconds from one commit to the next: what was done longer ago outlives a loss of power, and what was deleted longer ago
 * is being given back. More often would cost whoever writes much.
 */
const mountOptions = 'commit=5';
/** As mount(2) has them. */
const noDevices = 4;
const noAccessTimes = 1024;

/**
 * Where the subvolumes lie: in the data folder, when it is btrfs, else in a pool of our own, which is a sparse file there.
 * The file is made once, grown when it runs short, and never formatted anew. Its mount goes with the machine's next
 * start and not with the server, because sandboxes live on without one.
 */
export class BtrfsPool {
  /** Where it is reached. */
  readonly folder: string;
  readonly #file: string | undefined;
  readonly #data: string;
  readonly #host: HostClient;
  readonly #firstBytes: number | undefined;
  readonly #mostBytes: number;
  #opening: Promise<void> | undefined;
  #growing: Promise<void> | undefined;

  constructor(options: {
    readonly data: string;
    /** Where a pool in a file is mounted. */
    readonly mount: string;
    readonly host: HostClient;
    /** How large a pool in a file begins; by the room on the disk when absent. */
    readonly firstBytes?: number;
    /** How large it may grow; as far as the disk has room when absent. */
    readonly mostBytes?: number;
  }) {
    const { data, mount, host, firstBytes, mostBytes = Number.POSITIVE_INFINITY } = options;
    this.#mostBytes = mostBytes;
    this.#data = data;
    this.#host = host;
    this.#firstBytes = firstBytes;
    const isBtrfs = statfsSync(data).type === btrfsType;
    this.#file = isBtrfs ? undefined : join(data, 'pool.btrfs');
    this.folder = isBtrfs ? join(data, 'btrfs') : mount;
  }

  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async probe(signal: AbortSignal): Promise<StorageProbe> {
    try {
      await this.open();
      signal.throwIfAborted();
      const room = await roomOf(this.folder);
      const where = this.#file === undefined ? `the btrfs of ${this.folder}` : `the pool ${this.#file}`;
      return { usable: true, detail: `snapshots and simple quotas; ${fillText({ ...room, detail: where })}` };
    } catch (error) {
      const { message, hint } = error as CaissonError;
      return { usable: false, why: message, fix: hint ?? 'Use --storage overlay.' };
    }
  }

  /** The worse of the pool and the disk that its file lies on: each can be full without the other. */
  async health(): Promise<PoolHealth> {
    await this.open();
    let [pool, disk] = await this.#rooms();
    if (this.#file !== undefined && isShort(pool)) {
      await this.#grow(pool, disk).catch(() => {});
      [pool, disk] = await this.#rooms();
    }
    const fill = ({ totalBytes, freeBytes }: Room) => 1 - freeBytes / totalBytes;
    const isDisk = fill(disk) > fill(pool);
    const { totalBytes, freeBytes } = isDisk ? disk : pool;
    const detail = isDisk ? `the disk below ${this.#file ?? this.folder}` : `the pool ${this.#file ?? this.folder}`;
    return { state: poolState(totalBytes, freeBytes), totalBytes, freeBytes, detail };
  }

  /**
   * The kernel gives back the room of what was deleted when it next has time, half a minute later. Where room is short it
   * is asked to do so now: first it finds what was deleted, then it lets go of it.
   */
  async reclaim(): Promise<void> {
    const [pool] = await this.#rooms();
    if (!isShort(pool)) return;
    for (const _ of ['find', 'let go'])
      await hostCommand(this.#host, 'btrfs', ['filesystem', 'sync', this.folder]).catch(() => {});
  }

  async #open(): Promise<void> {
    if (this.#file !== undefined) await this.#openFile(this.#file);
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await this.#host.enableQuota(this.folder).catch((error: CaissonError) => {
      throw new CaissonError('storage_failed', `simple quotas of btrfs: ${error.message}`, {
        cause: error,
        hint: 'They need Linux 6.7 and a filesystem without other quotas. Use --storage overlay.',
      });
    });
  }

  async #openFile(file: string): Promise<void> {
    await makePassable(dirname(this.folder));
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    if (await isMounted(this.folder)) return;
    const isNew = !existsSync(file);
    if (isNew) await this.#format(file);
    try {
      await this.#mountFile(file);
    } catch (error) {
      if (isNew) await rm(file, { force: true });
      throw new CaissonError('storage_failed', `the pool ${file} cannot be mounted: ${(error as Error).message}`, {
        cause: error,
        hint: isNew
          ? 'Use --storage overlay.'
          : `It is left as it is. Look at it with \`btrfs check ${file}\`, or move it away to begin anew.`,
      });
    }
  }

  /** Sandboxes that live on hold its device, also where its mount is gone: then it is that one which is mounted again. */
  async #mountFile(file: string): Promise<void> {
    const device = await loopDeviceOf(file);
    if (device !== undefined) {
      const again = {
        source: device,
        target: this.folder,
        type: 'btrfs',
        flags: noDevices | noAccessTimes,
        data: mountOptions,
      };
      const mounted = await this.#host.mount(again).then(
        () => true,
        () => false,
      );
      if (mounted) return;
      await untilLetGo(file);
    }
    await this.#host.mountDisk({ file, target: this.folder, type: 'btrfs', data: mountOptions });
  }

  async #format(file: string): Promise<void> {
    const draft = `${file}.new`;
    await rm(draft, { force: true });
    try {
      await resizeFile(draft, this.#firstBytes ?? firstSize(await roomOf(this.#data)));
      // Once is enough for what lies in one file: a second copy would be lost with the first, and costs every commit.
      await hostCommand(this.#host, 'mkfs.btrfs', ['-q', '-f', '-m', 'single', '-d', 'single', '-L', 'caisson', draft]);
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true });
      if (!/No such file/.test((error as Error).message)) throw error;
      throw new CaissonError('storage_failed', 'there is no mkfs.btrfs', {
        cause: error,
        hint: 'Install btrfs-progs, or use --storage overlay.',
      });
    }
  }

  #grow(pool: Room, disk: Room): Promise<void> {
    this.#growing ??= this.#growNow(pool, disk).finally(() => {
      this.#growing = undefined;
    });
    return this.#growing;
  }

  async #growNow(pool: Room, disk: Room): Promise<void> {
    const file = this.#file;
    const device = file && (await loopDeviceOf(file));
    const bytes = largerSize(pool, disk);
    if (!file || !device || bytes === undefined || bytes > this.#mostBytes) return;
    await resizeFile(file, bytes);
    await hostCommand(this.#host, 'losetup', ['-c', device]);
    await hostCommand(this.#host, 'btrfs', ['filesystem', 'resize', 'max', this.folder]);
  }

  async #rooms(): Promise<[Room, Room]> {
    return Promise.all([roomOf(this.folder), roomOf(this.#data)]);
  }

  /** Lets go of the pool, for whoever knows that nothing in it is mounted. */
  async close(): Promise<void> {
    this.#opening = undefined;
    if (this.#file !== undefined && (await isMounted(this.folder))) await unmount(this.#host, this.folder);
  }
}
