import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { digestFileName, digestPattern } from './digest.ts';
import type { DraftFolder } from './draft-folder.ts';

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
  }),
  notices: z.array(z.string()),
  madeAt: z.string(),
});
export type ImageRecord = z.infer<typeof imageRecordSchema>;

const baseSchema = z.object({ digest });

/**
 * `images/<digest>.json`, one for each image, and `bases/<key>.json`, which names the image that was made for a key. A
 * record whose layers are not all there counts as none.
 */
export class ImageRecords {
  readonly #drafts: DraftFolder;
  readonly #hasLayer: (diffId: string) => boolean;

  constructor(drafts: DraftFolder, hasLayer: (diffId: string) => boolean) {
    this.#drafts = drafts;
    this.#hasLayer = hasLayer;
  }

  async write(record: ImageRecord): Promise<void> {
    await this.#drafts.writeJson(this.#file(record.digest), record);
  }

  async read(of: string): Promise<ImageRecord | undefined> {
    const parsed = imageRecordSchema.safeParse(await this.#drafts.readJson(this.#file(of)));
    return parsed.success && parsed.data.diffIds.every(this.#hasLayer) ? parsed.data : undefined;
  }

  async writeBase(key: string, record: ImageRecord): Promise<void> {
    await this.write(record);
    await this.#drafts.writeJson(this.baseFile(key), { digest: record.digest });
  }

  async readBase(key: string): Promise<ImageRecord | undefined> {
    const parsed = baseSchema.safeParse(await this.#drafts.readJson(this.baseFile(key)));
    return parsed.success ? this.read(parsed.data.digest) : undefined;
  }

  baseFile(key: string): string {
    return join(this.#drafts.path, 'bases', `${key}.json`);
  }

  /** Removes the records that count as none; answers which. */
  async sweep(): Promise<string[]> {
    const swept: string[] = [];
    for (const name of await readdir(join(this.#drafts.path, 'images'))) {
      const of = name.replace(/^sha256-/, 'sha256:').replace(/\.json$/, '');
      if (digestPattern.test(of) && (await this.read(of)) !== undefined) continue;
      await rm(join(this.#drafts.path, 'images', name), { recursive: true, force: true });
      swept.push(`images/${name}`);
    }
    return swept;
  }

  #file(of: string): string {
    return join(this.#drafts.path, 'images', `${digestFileName(of)}.json`);
  }
}
