import { resolve } from 'node:path';
import { CaissonError, type Doctor, hasCode, type WorkspaceBlueprint } from '@caisson/contract';
import type { ImageLayers } from '../storage/storage.ts';
import { defaultBounds, type ImageBounds } from './bounds.ts';
import { checkWays } from './check-ways.ts';
import { findRelease } from './debian/releases.ts';
import { digestOf, digestPattern, layerOfFolder } from './digest.ts';
import { DraftFolder } from './draft-folder.ts';
import { ImageRecords, useEveryMs } from './image-records.ts';
import { InUse } from './in-use.ts';
import { Layers } from './layers.ts';
import { readImage } from './oci/content.ts';
import type { ImageSettings } from './oci/image-settings.ts';
import { distributionImage } from './plan/os-facts.ts';
import { parseReference } from './reference.ts';
import type { RegistryCredentials } from './registry/credentials.ts';
import { RegistryAccess, type RegistryAccessOptions } from './registry/registry-access.ts';
import { RegistryClient } from './registry/registry-client.ts';
import { RegistrySource } from './registry/registry-source.ts';
import { SharedWork } from './shared-work.ts';
import { baseKey, debianBase } from './ways/debian.ts';
import { hostImage } from './ways/host.ts';
import { localImage } from './ways/local.ts';
import { registryImage } from './ways/registry.ts';
import { fromRecord, type Work, type Workshop } from './ways/workshop.ts';

export type { RegistryCredential, RegistryCredentials } from './registry/credentials.ts';

type Os = WorkspaceBlueprint['target']['os'];

/** A root filesystem to begin from. */
export interface BaseImage extends ImageLayers {
  /** What a person calls it: `debian bookworm`, `host`, or the reference. */
  readonly name: string;
  readonly config: ImageSettings;
  readonly notices: readonly string[];
  /** What of the machine is mounted into it, read-only. */
  readonly binds?: readonly { readonly source: string; readonly target: string }[];
  /** Of an image from a registry: the reference with the digest that its tag had. */
  readonly pinned?: string;
  /** When it was made or fetched. */
  readonly madeAt?: string;
  /** How each layer came to be, lowest first, where its builder tells. */
  readonly history?: readonly string[];
}

/** An image of a registry, by the digest that its reference has now. */
export interface PinnedImage {
  readonly kind: 'registry';
  readonly reference: string;
  readonly digest: string;
}

export interface ImagesOptions extends RegistryAccessOptions {
  /** `<data>/images`. */
  readonly folder: string;
  /** The path of `caisson-guest`, which unpacks. */
  readonly guestProgram: string;
  /** Where images of the machine may lie; undefined: anywhere. A server for several tenants should name them. */
  readonly localFolders?: readonly string[];
  readonly bounds?: Partial<ImageBounds>;
}

export interface ResolveOptions {
  readonly signal: AbortSignal;
  readonly progress?: (line: string) => void;
  readonly credentials?: RegistryCredentials;
}

/**
 * Turns the `os` of a blueprint into layers on disk.
 *
 *   layers/<algorithm>-<hex>/   unpacked once, named by the digest of their tar, shared by all images
 *   images/<digest>.json        what is known of an image: its layers and its config
 *   bases/<key>.json            which image was made for a base that is built here
 *   packed/, blobs/             layers as registries keep them
 *   facts/                      how large layers are
 *   making/                     what is not whole yet
 *
 * Laws
 * 1. `resolve` is idempotent, and calls for one base at the same time share the work.
 * 2. What stands in `layers/` is whole and has the digest of its name, whenever the process was killed.
 * 3. A failure is one CaissonError, and leaves nothing in `making/`.
 */
export class Images {
  /** Which registries are asked, and as whom. */
  readonly access: RegistryAccess;
  readonly #options: ImagesOptions;
  readonly #workshop: Workshop;
  readonly #working = new SharedWork<BaseImage>();

  constructor(options: ImagesOptions) {
    const bounds = { ...defaultBounds, ...options.bounds };
    const drafts = new DraftFolder(resolve(options.folder));
    const inUse = new InUse();
    const layers = new Layers(drafts, options.guestProgram, bounds, inUse);
    const records = new ImageRecords(drafts, inUse, (diffId) => layers.isThere(diffId));
    this.#options = options;
    this.#workshop = { drafts, layers, records, bounds, inUse };
    this.access = new RegistryAccess(options);
  }

  async resolve(os: Os, options: ResolveOptions): Promise<BaseImage> {
    await this.#workshop.drafts.open();
    const credentials = options.credentials ?? {};
    // Who may see an image is the registry's decision: callers with other credentials ask for themselves.
    const key = digestOf(JSON.stringify([os.family, os.release, os.reference, credentials]));
    return this.#working.run(key, options, (signal, progress) => this.#make(os, credentials, signal, progress));
  }

  /** The digest of a Debian base that is made already. */
  async keptDebian(release: string | undefined): Promise<string | undefined> {
    await this.#workshop.drafts.open();
    return (await this.#workshop.records.readBase(baseKey(findRelease(release))))?.digest;
  }

  /** An image by its digest, where it is here whole. The machine's own programs are none. */
  async kept(digest: string): Promise<BaseImage | undefined> {
    if (!digestPattern.test(digest)) return undefined;
    await this.#workshop.drafts.open();
    const record = await this.#workshop.records.read(digest);
    return record && record.name !== 'host' ? fromRecord(record, this.#workshop) : undefined;
  }

  get hasDefaultRegistry(): boolean {
    return this.#options.defaultRegistry !== undefined;
  }

  /** What a reference stands for now, by its manifest alone; undefined where more than that would have to be read. */
  async pin(text: string, signal: AbortSignal): Promise<PinnedImage | undefined> {
    const reference = parseReference(text, this.#options.defaultRegistry);
    const { bounds } = this.#workshop;
    if (reference.kind !== 'registry') return undefined;
    const { host, repository } = reference;
    const client = new RegistryClient(await this.access.place(reference));
    const source = new RegistrySource(client, reference, bounds);
    const { rootDigest } = await readImage(source, text, bounds, signal);
    return { kind: 'registry', reference: `${host}/${repository}:${reference.tag}`, digest: rootDigest };
  }

  /** For whoever takes layers out of here, or brings some. */
  async workshop(): Promise<Workshop & { readonly guestProgram: string }> {
    await this.#workshop.drafts.open();
    return { ...this.#workshop, guestProgram: this.#options.guestProgram };
  }

  /** Whether all of an image is still here, for whoever is about to use what it was given before. */
  async has({ digest, layers }: ImageLayers): Promise<boolean> {
    const { inUse, layers: kept, records } = this.#workshop;
    const isRecent = Date.now() - inUse.lastTouched(digest) < useEveryMs;
    if (!isRecent) return (await records.read(digest)) !== undefined;
    return layers.every((folder) => kept.has(layerOfFolder(folder)));
  }

  /** Keeps an image against being collected, until the answer is called. */
  hold(image: ImageLayers): () => void {
    return this.#workshop.inUse.hold(namesOf(image));
  }

  /** Removes what a killed process left half-made. Called before anything else. */
  async recover(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    await this.#workshop.drafts.open();
    return [...(await this.#workshop.drafts.sweep()), ...(await this.#workshop.records.sweep())];
  }

  /** For `caisson doctor`: each way to a base, whether it can be used here, and what would change that. */
  async probe(signal: AbortSignal): Promise<Doctor['checks']> {
    return checkWays(this.#options, signal);
  }

  async #make(
    os: Os,
    credentials: RegistryCredentials,
    signal: AbortSignal,
    progress: (line: string) => void,
  ): Promise<BaseImage> {
    const work = { ...this.#workshop, signal, progress };
    switch (os.family) {
      case 'host':
        return hostImage(work);
      case 'debian':
        return debianBase(findRelease(os.release), work);
      case 'auto':
        return this.#auto(work);
      case 'image':
        return this.#image(os.reference ?? '', credentials, work);
      default: {
        const reference = this.hasDefaultRegistry ? distributionImage(os) : undefined;
        if (reference !== undefined) return this.#image(reference, credentials, work);
        const what = [os.family, os.release].filter(Boolean).join(' ');
        throw new CaissonError('unsupported-os', `\`${what}\` cannot be bootstrapped`, {
          hint: `Give an image of it: \`{family: image, reference: …}\`; \`debian\` and \`host\` need none.`,
        });
      }
    }
  }

  /** Debian where it can be made, and otherwise the machine's own programs, with the reason. */
  async #auto(work: Work): Promise<BaseImage> {
    try {
      return await debianBase(findRelease(), work);
    } catch (error) {
      if (!hasCode(error, 'unsupported-os', 'build_failed')) throw error;
      const host = await hostImage(work);
      return { ...host, notices: [`the machine's own programs are used: ${error.message}`, ...host.notices] };
    }
  }

  async #image(text: string, given: RegistryCredentials, work: Work): Promise<BaseImage> {
    const { defaultRegistry, localFolders } = this.#options;
    const reference = parseReference(text, defaultRegistry);
    if (reference.kind !== 'registry') return localImage(text, reference, localFolders, work);
    return registryImage(text, reference, await this.access.place(reference, given), work);
  }
}

/** What an image is known by: its own digest, and those of its layers. */
export function namesOf({ digest, layers }: ImageLayers): string[] {
  return [digest, ...layers.map(layerOfFolder)];
}
