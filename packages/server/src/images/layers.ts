import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { ImageBounds } from './bounds.ts';
import { decompressed } from './decompress.ts';
import { digestEnd, digestFileName, short } from './digest.ts';
import type { DraftFolder } from './draft-folder.ts';
import type { InUse } from './in-use.ts';
import { SharedWork } from './shared-work.ts';
import { type UnpackCounts, unpackTar } from './unpack.ts';

/** A layer on disk, named by its diff id: the digest of its plain tar. */
export interface Layer {
  readonly diffId: string;
  readonly folder: string;
  /** Absent when it was there already. */
  readonly counts?: UnpackCounts;
}

/**
 * The unpacked layers, `layers/<algorithm>-<hex>/`, each made once and shared by all images. A layer gets its name only
 * after its tar was found to have this digest.
 */
export class Layers {
  readonly #drafts: DraftFolder;
  readonly #guestProgram: string;
  readonly #bounds: ImageBounds;
  readonly #inUse: InUse;
  readonly #working = new SharedWork<Layer>();

  constructor(drafts: DraftFolder, guestProgram: string, bounds: ImageBounds, inUse: InUse) {
    this.#inUse = inUse;
    this.#drafts = drafts;
    this.#guestProgram = guestProgram;
    this.#bounds = bounds;
  }

  folderOf(diffId: string): string {
    return join(this.#drafts.path, 'layers', digestFileName(diffId));
  }

  /** Whoever asks may be about to use it: for a while it is not collected. */
  has(diffId: string): boolean {
    this.#inUse.touch(diffId);
    return this.isThere(diffId);
  }

  isThere(diffId: string): boolean {
    return existsSync(this.folderOf(diffId));
  }

  factsOf(diffId: string): string {
    return join(this.#drafts.path, 'facts', `${digestFileName(diffId)}.json`);
  }

  /** The layer of this diff id; its archive, compressed or not, is only opened when it is not there. */
  async ensure(
    diffId: string,
    open: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<Layer> {
    const folder = this.folderOf(diffId);
    if (this.has(diffId)) return { diffId, folder };
    return this.#working.run(diffId, { signal }, (shared) => this.add(open(shared), shared, diffId));
  }

  /**
   * Unpacks an archive whose diff id is not known before its end. With `expected` it must be that one. From the moment it
   * is in its place until it is given it is held; whoever gets it goes on from there.
   */
  async add(archive: AsyncIterable<Uint8Array>, signal: AbortSignal, expected?: string): Promise<Layer> {
    let release = () => {};
    try {
      return await this.#drafts.use(async (draft) => {
        const tree = join(draft, 'tree');
        await mkdir(tree, { mode: 0o755 });
        const hash = createHash('sha256');
        const counts = await unpackTar(hashed(decompressed(archive), hash), tree, {
          guestProgram: this.#guestProgram,
          maxBytes: this.#bounds.layerBytes,
          maxEntries: this.#bounds.layerEntries,
          signal,
        });
        const diffId = digestEnd(hash);
        if (expected !== undefined && diffId !== expected)
          throw new CaissonError('image_invalid', `the layer ${short(expected)} unpacks to ${short(diffId)}`, {
            context: { expected, found: diffId },
          });
        release = this.#inUse.hold([diffId]);
        const folder = this.folderOf(diffId);
        await this.#drafts.place(tree, folder);
        // Only how large it is, which can be found out again.
        await writeFile(this.factsOf(diffId), JSON.stringify({ bytes: counts.bytes }), { mode: 0o600 }).catch(() => {});
        return { diffId, folder, counts };
      });
    } finally {
      release();
    }
  }
}

async function* hashed(
  content: AsyncIterable<Uint8Array>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
}
