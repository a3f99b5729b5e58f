import { resolve } from 'node:path';
import { CaissonError, type Doctor, hasCode, type WorkspaceBlueprint } from '@caisson/contract';
import type { ImageLayers } from '../storage/storage.ts';
import { defaultBounds, type ImageBounds } from './bounds.ts';
import { checkWays } from './check-ways.ts';
import { findRelease } from './debian/releases.ts';
import { digestOf, digestPattern } from './digest.ts';
import { DraftFolder } from './draft-folder.ts';
import { ImageRecords } from './image-records.ts';
import { Layers } from './layers.ts';
import { readImage } from './oci/content.ts';
import type { ImageSettings } from './oci/image-settings.ts';
import { parseReference, type RegistryReference } from './reference.ts';
import { type RegistryCredential, type RegistryCredentials, readCredentialsFile } from './registry/credentials.ts';
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
}

/** An image of a registry, by the digest that its reference has now. */
export interface PinnedImage {
  readonly kind: 'registry';
  readonly reference: string;
  readonly digest: string;
}

export interface ImagesOptions {
  /** `<data>/images`. */
  readonly folder: string;
  /** The path of `caisson-guest`, which unpacks. */
  readonly guestProgram: string;
  /** A file as `docker login` writes it. Every caller's images are fetched with it. */
  readonly credentialsFile?: string;
  /** The host of references that name none. */
  readonly defaultRegistry?: string;
  /** The hosts that may be asked; undefined: any. A server for several tenants should name them. */
  readonly registries?: readonly string[];
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
 *   making/                     what is not whole yet
 *
 * Laws
 * 1. `resolve` is idempotent, and calls for one base at the same time share the work.
 * 2. What stands in `layers/` is whole and has the digest of its name, whenever the process was killed.
 * 3. A failure is one CaissonError, and leaves nothing in `making/`.
 */
export class Images {
  readonly #options: ImagesOptions;
  readonly #workshop: Workshop;
  readonly #working = new SharedWork<BaseImage>();

  constructor(options: ImagesOptions) {
    const bounds = { ...defaultBounds, ...options.bounds };
    const drafts = new DraftFolder(resolve(options.folder));
    const layers = new Layers(drafts, options.guestProgram, bounds);
    const records = new ImageRecords(drafts, (diffId) => layers.has(diffId));
    this.#options = options;
    this.#workshop = { drafts, layers, records, bounds };
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
    const client = new RegistryClient({ host, repository, credential: await this.#credential(reference, {}) });
    const source = new RegistrySource(client, reference, bounds);
    const { rootDigest } = await readImage(source, text, bounds, signal);
    return { kind: 'registry', reference: `${host}/${repository}:${reference.tag}`, digest: rootDigest };
  }

  /** For whoever takes layers out of here, or brings some. */
  async workshop(): Promise<Workshop & { readonly guestProgram: string }> {
    await this.#workshop.drafts.open();
    return { ...this.#workshop, guestProgram: this.#options.guestProgram };
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
      default:
        throw new CaissonError('unsupported-os', `\`${os.family}\` cannot be bootstrapped`, {
          hint: `Give an image of it: \`{family: image, reference: …}\`; \`debian\` and \`host\` need none.`,
        });
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
    return registryImage(text, reference, await this.#credential(reference, given), work);
  }

  /** Only for a registry that may be asked. */
  async #credential({ host }: RegistryReference, given: RegistryCredentials): Promise<RegistryCredential | undefined> {
    const { credentialsFile, registries } = this.#options;
    if (registries !== undefined && !registries.includes(host))
      throw new CaissonError('registry_failed', `the registry ${host} is not one that this server asks`, {
        hint: `It asks ${registries.join(', ') || 'none'}.`,
      });
    const kept = credentialsFile === undefined ? {} : await readCredentialsFile(credentialsFile);
    return given[host] ?? kept[host];
  }
}
