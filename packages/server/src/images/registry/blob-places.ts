import { join } from 'node:path';
import * as z from 'zod';
import { digestOf, digestPattern } from '../digest.ts';
import type { DraftFolder } from '../draft-folder.ts';

const placesSchema = z.record(z.string().regex(digestPattern), z.string().max(255));

/** Beyond so many blobs of one registry the oldest are forgotten, and sent where they could have been taken over. */
const maxBlobs = 2_000;

/**
 * Which repository of a registry was given a blob, so that another one of the same registry takes it over from there. It
 * is a remark: what the registry has lost since is sent.
 */
export class BlobPlaces {
  readonly #drafts: DraftFolder;

  constructor(drafts: DraftFolder) {
    this.#drafts = drafts;
  }

  /** By digest, for those that another repository was given. */
  async find(
    host: string,
    repository: string,
    blobs: readonly { readonly digest: string }[],
  ): Promise<Map<string, string>> {
    const places = await this.#read(host);
    return new Map(
      blobs.flatMap(({ digest }) => {
        const from = places[digest];
        return from === undefined || from === repository ? [] : [[digest, from] as const];
      }),
    );
  }

  async remember(host: string, repository: string, blobs: readonly { readonly digest: string }[]): Promise<void> {
    const places = await this.#read(host);
    if (blobs.every(({ digest }) => places[digest] !== undefined)) return;
    const added = Object.fromEntries(blobs.map(({ digest }) => [digest, places[digest] ?? repository]));
    const all = Object.entries({ ...places, ...added }).slice(-maxBlobs);
    await this.#drafts.writeJson(this.#file(host), Object.fromEntries(all));
  }

  async #read(host: string): Promise<Record<string, string>> {
    return placesSchema.safeParse(await this.#drafts.readJson(this.#file(host))).data ?? {};
  }

  #file(host: string): string {
    return join(this.#drafts.path, 'packed', `places-${digestOf(host).slice(-16)}.json`);
  }
}
