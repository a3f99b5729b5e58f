import { hasCode, type Id, type WorkspaceBlueprint } from '@caisson/contract';
import type { BaseImage, Images } from '../images/images.ts';
import { PoolRoom } from '../storage/pool-room.ts';
import type { Rootfs, Storage } from '../storage/storage.ts';
import type { AttemptImage } from '../store/attempts.ts';

export interface PrepareOptions {
  readonly ownIds: boolean;
  readonly diskMiB: number | undefined;
  /** It begins from these files, in place of an image. */
  readonly snapshot: Id<'snapshot'> | undefined;
  /** The image to begin from, where it is not the base that the blueprint names. */
  readonly base: BaseImage | undefined;
  /** What is known of the image of files that are there already. */
  readonly image: AttemptImage | undefined;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface Prepared {
  readonly rootfs: Rootfs;
  readonly image: AttemptImage;
  readonly notices: readonly string[];
}

/** From the `os` of a blueprint to the root filesystem of a sandbox, for drivers whose filesystem is ours. */
export class Filesystems {
  readonly storage: Storage;
  readonly images: Images;
  /** Why it is this storage, for people. */
  readonly why: string;
  /** Whether there is room for another sandbox: who asks first need not begin what would fail. */
  readonly room: PoolRoom;
  readonly #known = new Map<string, BaseImage>();

  constructor(images: Images, storage: Storage, why = 'it was given') {
    this.images = images;
    this.storage = storage;
    this.why = why;
    this.room = new PoolRoom(() => storage.health(new AbortController().signal));
  }

  /** Idempotent: for a sandbox that has one it answers that, whatever the image is by now. */
  async prepare(sandbox: Id<'sandbox'>, blueprint: WorkspaceBlueprint, options: PrepareOptions): Promise<Prepared> {
    const { ownIds, diskMiB, snapshot, image, signal } = options;
    const quota = diskMiB === undefined ? {} : { quotaBytes: diskMiB * 1024 * 1024 };
    if (snapshot !== undefined && image) {
      const rootfs = await this.storage.clone(snapshot, { sandbox, ownIds, ...quota }, signal);
      return { rootfs, image, notices: [] };
    }
    const kept = image && (await this.#kept(sandbox, image, signal));
    if (kept) return kept;
    const base = options.base ?? (await this.#image(blueprint, options));
    const release = this.images.hold(base);
    try {
      const rootfs = await this.storage.prepare({ sandbox, image: base, ownIds, ...quota }, signal);
      return { rootfs, image: { digest: base.digest, env: base.config.env }, notices: base.notices };
    } finally {
      release();
    }
  }

  /** The image that the blueprint's base is at this moment. */
  async imageDigest(blueprint: WorkspaceBlueprint, signal: AbortSignal): Promise<string> {
    return (await this.images.resolve(blueprint.target.os, { signal })).digest;
  }

  /** The files that a sandbox has, without asking anybody what its image is by now; undefined when it has none. */
  async #kept(sandbox: Id<'sandbox'>, image: AttemptImage, signal: AbortSignal): Promise<Prepared | undefined> {
    try {
      const rootfs = await this.storage.prepare({ sandbox, image: { digest: image.digest, layers: [] } }, signal);
      return { rootfs, image, notices: [] };
    } catch (error) {
      if (hasCode(error, 'image_not_found')) return undefined;
      throw error;
    }
  }

  async remove(sandbox: Id<'sandbox'>, signal: AbortSignal): Promise<void> {
    await this.storage.destroy(sandbox, signal);
  }

  /** What a killed server left half-made. */
  async recover(signal: AbortSignal): Promise<readonly string[]> {
    return [...(await this.images.recover(signal)), ...(await this.storage.recover(signal))];
  }

  async close(): Promise<void> {
    await this.storage.close?.();
  }

  async #image(blueprint: WorkspaceBlueprint, options: PrepareOptions): Promise<BaseImage> {
    const { os } = blueprint.target;
    const key = JSON.stringify([os.family, os.release, os.reference]);
    const known = this.#known.get(key);
    if (known && (await this.images.has(known))) return known;
    const image = await this.images.resolve(os, options);
    // A tag of a registry may mean another image tomorrow; what is made here does not change under its name.
    if (!hasChangingImage(blueprint)) this.#known.set(key, image);
    return image;
  }
}

/** Whether its base is named by a reference that may mean another image tomorrow. */
export function hasChangingImage({ target: { os } }: WorkspaceBlueprint): boolean {
  // A distribution that is not made here is a tag of a registry too.
  const isMadeHere = os.family === 'auto' || os.family === 'debian' || os.family === 'host';
  return !isMadeHere && os.reference?.includes('@sha256:') !== true;
}
