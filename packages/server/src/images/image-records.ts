import { readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { digestFileName, digestPattern } from './digest.ts';
import type { DraftFolder } from './draft-folder.ts';
import type { InUse } from './in-use.ts';

const digest = z.string().regex(digestPattern);

/** What is kept of an image besides its layers. */
export const imageRecordSchema = z.object({
  digest,
  name: z.string(),
  diffIds: z.array(digest).min(1),
  config: z.object({
    env: z.record(z.string(), z.string()),
    workingDirectory: z.exactOptional(z.string()),
    user: z.exactOptional(z.string()),
    entrypoint: z.exactOptional(z.array(z.string()).readonly()),
    command: z.exactOptional(z.array(z.string()).readonly()),
    labels: z.exactOptional(z.record(z.string(), z.string())),
  }),
  notices: z.array(z.string()),
  madeAt: z.string(),
  /** Somebody asked for it to be kept. */
  isKept: z.exactOptional(z.boolean()),
  /** How each layer came to be, where somebody told. */
  history: z.exactOptional(z.array(z.string()).readonly()),
  /** What of the machine is mounted into it: it is nothing elsewhere. */
  binds: z.exactOptional(z.array(z.object({ source: z.string(), target: z.string() })).readonly()),
});
export type ImageRecord = z.infer<typeof imageRecordSchema>;

/** How exactly the time of the last use is kept: nothing is decided by minutes. */
export const useEveryMs = 300_000;

const baseSchema = z.object({ digest });

/**
 * `images/<digest>.json`, one for each image, and `bases/<key>.json`, which names the image that was made for a key. A
 * record whose layers are not all there counts as none.
 */
export class ImageRecords {
  readonly #drafts: DraftFolder;
  readonly #inUse: InUse;
  readonly #hasLayer: (diffId: string) => boolean;

  constructor(drafts: DraftFolder, inUse: InUse, hasLayer: (diffId: string) => boolean) {
    this.#drafts = drafts;
    this.#inUse = inUse;
    this.#hasLayer = hasLayer;
  }

  async write(record: ImageRecord): Promise<void> {
    const release = this.#inUse.hold([record.digest, ...record.diffIds]);
    try {
      await this.#drafts.writeJson(this.file(record.digest), record);
    } finally {
      release();
    }
  }

  /** For whoever is going to use it: the time of its file is that of its last use. */
  async read(of: string): Promise<ImageRecord | undefined> {
    const before = this.#inUse.lastTouched(of);
    this.#inUse.touch(of);
    const found = await this.look(of);
    this.#inUse.touch(...(found?.diffIds ?? []));
    if (found === undefined || !found.diffIds.every(this.#hasLayer)) return undefined;
    if (Date.now() - before > useEveryMs) await this.#markUsed(of);
    return found;
  }

  /** Without using it, and whether or not its layers are there. */
  async look(of: string): Promise<ImageRecord | undefined> {
    return imageRecordSchema.safeParse(await this.#drafts.readJson(this.file(of))).data;
  }

  /** What there is a record of. */
  async list(): Promise<string[]> {
    const names = await readdir(join(this.#drafts.path, 'images'));
    return names.map(digestOfFile).filter((of) => digestPattern.test(of));
  }

  async #markUsed(of: string): Promise<void> {
    const now = new Date();
    await utimes(this.file(of), now, now).catch(() => {});
  }

  async writeBase(key: string, record: ImageRecord): Promise<void> {
    await this.write(record);
    await this.#drafts.writeJson(this.baseFile(key), { digest: record.digest });
  }

  async readBase(key: string): Promise<ImageRecord | undefined> {
    const found = await this.lookBase(key);
    return found === undefined ? undefined : this.read(found);
  }

  /** The digest that was made for a key, without using it. */
  async lookBase(key: string): Promise<string | undefined> {
    return baseSchema.safeParse(await this.#drafts.readJson(this.baseFile(key))).data?.digest;
  }

  async listBases(): Promise<string[]> {
    return (await readdir(join(this.#drafts.path, 'bases'))).map((name) => name.replace(/\.json$/, ''));
  }

  baseFile(key: string): string {
    return join(this.#drafts.path, 'bases', `${key}.json`);
  }

  /** Removes the records that count as none; answers which. */
  async sweep(): Promise<string[]> {
    const swept: string[] = [];
    for (const name of await readdir(join(this.#drafts.path, 'images'))) {
      const of = digestOfFile(name);
      const found = digestPattern.test(of) ? await this.look(of) : undefined;
      if (found?.diffIds.every(this.#hasLayer)) continue;
      await rm(join(this.#drafts.path, 'images', name), { recursive: true, force: true });
      swept.push(`images/${name}`);
    }
    return swept;
  }

  file(of: string): string {
    return join(this.#drafts.path, 'images', `${digestFileName(of)}.json`);
  }
}

function digestOfFile(name: string): string {
  return name.replace(/^sha256-/, 'sha256:').replace(/\.json$/, '');
}
