import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { CaissonError } from '@caisson/contract';
import * as z from 'zod';
import { digestPattern } from './digest.ts';
import type { ImageRecord } from './image-records.ts';
import type { Images } from './images.ts';
import { PackedBlobs } from './pack/packed-blobs.ts';
import { Packer } from './pack/packer.ts';
import type { RegistryReference } from './reference.ts';
import { BlobPlaces } from './registry/blob-places.ts';
import type { RegistryCredentials } from './registry/credentials.ts';
import { type Published, type PublishOptions, publish } from './registry/publish.ts';
import { RegistryClient } from './registry/registry-client.ts';
import { Repository } from './registry/repository.ts';
import { treeBytes } from './tree-bytes.ts';
import { fromRecord, type Workshop } from './ways/workshop.ts';

const factsSchema = z.object({ bytes: z.number().min(0) });

/** An image that is kept here. */
export interface KeptImage {
  readonly digest: string;
  readonly name: string;
  readonly layers: readonly string[];
  /** Of its unpacked layers. Others may share them. */
  readonly sizeBytes: number;
  readonly madeAt: string;
  readonly usedAt: string;
  /** Somebody asked for it to be kept. */
  readonly isKept: boolean;
}

interface Tools extends Workshop {
  readonly blobs: PackedBlobs;
  readonly places: BlobPlaces;
}

/** The images that are kept here, and what is done with them besides making sandboxes: looking, publishing, removing. */
export class Shelf {
  readonly #images: Images;
  #tools: Tools | undefined;

  constructor(images: Images) {
    this.#images = images;
  }

  async list(): Promise<KeptImage[]> {
    const { records } = await this.tools();
    const found: KeptImage[] = [];
    for (const digest of await records.list()) {
      const record = await records.look(digest);
      const kept = record && (await this.#describe(record));
      if (kept) found.push(kept);
    }
    return found.sort((a, b) => (a.usedAt < b.usedAt ? 1 : -1));
  }

  async find(digest: string): Promise<KeptImage | undefined> {
    const { records } = await this.tools();
    const record = digestPattern.test(digest) ? await records.look(digest) : undefined;
    return record && this.#describe(record);
  }

  /** From now on it stays until it is deleted, whether or not anything uses it. */
  async keep(digest: string): Promise<void> {
    const { records } = await this.tools();
    const record = await records.read(digest);
    if (record === undefined) throw missing(digest);
    if (record.isKept !== true) await records.write({ ...record, isKept: true });
  }

  /** What of it nothing else uses goes when it is collected. */
  async remove(digest: string): Promise<void> {
    const { records } = await this.tools();
    if ((await records.look(digest)) === undefined) throw missing(digest);
    await rm(records.file(digest), { force: true });
  }

  async publish(
    digest: string,
    target: RegistryReference,
    given: RegistryCredentials,
    options: PublishOptions,
  ): Promise<Published> {
    const tools = await this.tools();
    const place = await this.#images.access.place(target, given);
    if (target.digest !== undefined)
      throw new CaissonError('request_invalid', 'an image is published under a tag; its digest is told afterwards');
    const record = await tools.records.read(digest);
    if (record === undefined) throw missing(digest);
    const image = fromRecord(record, tools);
    const release = this.#images.hold(image);
    try {
      return await publish(image, target, place, tools, options);
    } finally {
      release();
    }
  }

  /** What can be asked of a repository, as the server or with the credentials that were given. */
  async repository(
    reference: RegistryReference,
    given: RegistryCredentials = {},
    actions: 'pull' | 'delete' = 'pull',
  ): Promise<Repository> {
    const { bounds } = await this.tools();
    const place = await this.#images.access.place(reference, given);
    return new Repository(new RegistryClient({ ...place, actions }), bounds);
  }

  /** For whoever collects. */
  async tools(): Promise<Tools> {
    const { guestProgram, ...workshop } = await this.#images.workshop();
    this.#tools ??= {
      ...workshop,
      blobs: new PackedBlobs(workshop.drafts, new Packer(guestProgram, workshop.bounds)),
      places: new BlobPlaces(workshop.drafts),
    };
    return this.#tools;
  }

  async layerBytes(diffId: string): Promise<number> {
    const { layers } = await this.tools();
    const file = layers.factsOf(diffId);
    const known = factsSchema.safeParse(
      await readFile(file, 'utf8')
        .then(JSON.parse)
        .catch(() => undefined),
    );
    if (known.success) return known.data.bytes;
    const bytes = await treeBytes(layers.folderOf(diffId));
    await writeFile(file, JSON.stringify({ bytes }), { mode: 0o600 }).catch(() => {});
    return bytes;
  }

  /** Undefined for a record whose layers are not all there: it counts as none. */
  async #describe({ digest, name, diffIds, madeAt, isKept }: ImageRecord): Promise<KeptImage | undefined> {
    const { records, layers } = await this.tools();
    const used = await stat(records.file(digest)).catch(() => undefined);
    if (used === undefined || !diffIds.every((diffId) => layers.isThere(diffId))) return undefined;
    let sizeBytes = 0;
    for (const diffId of diffIds) sizeBytes += await this.layerBytes(diffId);
    const usedAt = used.mtime.toISOString();
    return { digest, name, layers: diffIds, sizeBytes, madeAt, usedAt, isKept: isKept === true };
  }
}

function missing(digest: string): CaissonError {
  return new CaissonError('image_not_found', `there is no image ${digest} here`, {
    hint: '`caisson image list --all` shows those that are kept.',
  });
}
