import { createHash } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { CaissonError } from '@caisson/contract';
import * as z from 'zod';
import { digestEnd, digestFileName, digestPattern, short } from '../digest.ts';
import type { DraftFolder } from '../draft-folder.ts';
import { mediaTypes } from '../oci/documents.ts';
import { SharedWork } from '../shared-work.ts';
import type { Packer } from './packer.ts';

/** How a layer travels. gzip is what every engine of the last ten years reads; zstd is not. */
export const layerForms = ['gzip', 'tar'] as const;
export type LayerForm = (typeof layerForms)[number];

const digest = z.string().regex(digestPattern);
const packedSchema = z.object({ diffId: digest, digest, size: z.int().min(0) });

/** A layer as a registry keeps it. */
export interface PackedLayer {
  /** Of the plain tar. It is our tar: a layer of somebody else's image has another one there. */
  readonly diffId: string;
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
}

/** Fast rather than small: half the time of the next step, for a tenth more of bytes. */
const gzipLevel = 1;

/**
 * Layers packed for registries, so that publishing is sending a file.
 *
 *   packed/<layer>.<form>.json   what the layer is when it is packed; true for as long as there is the layer
 *   blobs/<digest>               the packed layer itself, which may be missing: packed again it has the same digest
 */
export class PackedBlobs {
  readonly #drafts: DraftFolder;
  readonly #packer: Packer;
  readonly #working = new SharedWork<PackedLayer>();

  constructor(drafts: DraftFolder, packer: Packer) {
    this.#drafts = drafts;
    this.#packer = packer;
  }

  fileOf(of: string): string {
    return join(this.#drafts.path, 'blobs', digestFileName(of));
  }

  recordOf(layer: string, form: LayerForm): string {
    return join(this.#drafts.path, 'packed', `${digestFileName(layer)}.${form}.json`);
  }

  /** What a layer is when it is packed, if that was ever done. */
  async known(layer: string, form: LayerForm): Promise<PackedLayer | undefined> {
    const { data } = packedSchema.safeParse(await this.#drafts.readJson(this.recordOf(layer, form)));
    return data && { ...data, mediaType: mediaTypes[form === 'gzip' ? 'ociLayerGzip' : 'ociLayer'] };
  }

  /** The same with its file, which is made when it is not there. */
  async ensure(layer: string, folder: string, form: LayerForm, signal: AbortSignal): Promise<PackedLayer> {
    const known = await this.known(layer, form);
    if (known !== undefined && (await this.#isThere(known))) return known;
    return this.#working.run(`${layer} ${form}`, { signal }, (shared) =>
      this.#pack(layer, folder, form, known, shared),
    );
  }

  async #isThere({ digest: of, size }: PackedLayer): Promise<boolean> {
    const file = this.fileOf(of);
    const found = await stat(file).catch(() => undefined);
    if (found?.size !== size) return false;
    // Its time is that of its last use.
    const now = new Date();
    await utimes(file, now, now).catch(() => {});
    return existsSync(file);
  }

  async #pack(
    layer: string,
    folder: string,
    form: LayerForm,
    known: PackedLayer | undefined,
    signal: AbortSignal,
  ): Promise<PackedLayer> {
    return this.#drafts.use(async (draft) => {
      const fresh = join(draft, 'blob');
      const [plain, packed] = [new HashingPassage(), new HashingPassage()];
      const between = form === 'gzip' ? [createGzip({ level: gzipLevel, chunkSize: 256 * 1024 }), packed] : [packed];
      const source = Readable.from(this.#packer.open(folder, signal), { objectMode: false, highWaterMark: 1024 ** 2 });
      const target = createWriteStream(fresh, { mode: 0o600, flush: true, highWaterMark: 1024 ** 2 });
      await pipeline([source, plain, ...between, target], { signal }).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error;
      });
      const found = { diffId: plain.digest(), digest: packed.digest(), size: packed.bytes };
      if (known !== undefined && known.digest !== found.digest)
        throw new CaissonError('storage_failed', `the layer ${short(layer)} has changed since it was last packed`, {
          hint: 'Something other than the server wrote into its image folder.',
          context: { layer, was: known.digest, is: found.digest },
        });
      await this.#drafts.place(fresh, this.fileOf(found.digest));
      await this.#drafts.writeJson(this.recordOf(layer, form), found);
      return { ...found, mediaType: mediaTypes[form === 'gzip' ? 'ociLayerGzip' : 'ociLayer'] };
    });
  }
}

/** Counts and digests what passes. */
class HashingPassage extends Transform {
  bytes = 0;
  readonly #hash = createHash('sha256');

  override _transform(chunk: Buffer, _: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    done(null, chunk);
  }

  digest(): string {
    return digestEnd(this.#hash);
  }
}
