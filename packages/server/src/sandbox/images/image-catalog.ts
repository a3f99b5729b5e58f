import {
  CaissonError,
  type CollectedImages,
  type Image,
  includesScope,
  type PublishedImage,
  type RegistryExtension,
  type RegistryManifest,
  type WorkspaceBlueprint,
} from '@caisson/contract';
import type { Images } from '../../images/images.ts';
import type { RegistryReference } from '../../images/reference.ts';
import type { RegistryCredentials } from '../../images/registry/credentials.ts';
import { isLoopback } from '../../images/registry/hosts.ts';
import type { KeptImage, Shelf } from '../../images/shelf.ts';
import type { Secrets } from '../../network/secrets/secrets.ts';
import type { ImageUse } from '../../store/image-uses.ts';
import type { Store } from '../../store/store.ts';
import { type Caller, requireScope } from '../../tenancy/caller.ts';
import type { ImageKeeper } from './image-keeper.ts';

/** What there is where the server keeps images. */
export interface ImageHouse {
  readonly images: Images;
  readonly shelf: Shelf;
  readonly keeper: ImageKeeper;
}

export interface Travel {
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

export interface PublishRequest {
  readonly to: string;
  readonly compression: 'gzip' | 'none';
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly secret?: string | undefined;
}

/** What can be asked about images, by whom. */
export class ImageCatalog {
  readonly #store: Store;
  readonly #secrets: Secrets;
  readonly #house: ImageHouse | undefined;

  constructor(store: Store, secrets: Secrets, house: ImageHouse | undefined) {
    this.#store = store;
    this.#secrets = secrets;
    this.#house = house;
  }

  /** Those that the caller's own things name; for the operator, all that are kept besides. */
  async list(caller: Caller, all: boolean, signal: AbortSignal): Promise<Image[]> {
    const uses = await this.#usesOf(caller, signal);
    if (!all) return Promise.all(uses.map((use) => this.#own(use)));
    requireScope(caller, 'admin');
    const kept = (await this.#house?.shelf.list()) ?? [];
    return kept.map((image) =>
      keptImage(
        image,
        uses.find(({ digest }) => digest === image.digest),
      ),
    );
  }

  /** What others use is not there for whoever is not the operator. */
  async get(caller: Caller, digest: string, signal: AbortSignal): Promise<Image> {
    const use = (await this.#usesOf(caller, signal)).find((one) => one.digest === digest);
    const isOperator = includesScope(caller.scope, 'admin');
    const kept = isOperator ? await this.#house?.shelf.find(digest) : undefined;
    if (kept) return keptImage(kept, use);
    if (use) return this.#own(use);
    throw new CaissonError('image_not_found', `there is no image ${digest}`, {
      hint: '`caisson image list` shows yours.',
    });
  }

  async pull(caller: Caller, text: string, secret: string | undefined, travel: Travel): Promise<Image> {
    const { images, shelf } = this.#require();
    const reference = images.access.reference(text);
    const credentials = await this.#credentials(caller, reference, secret);
    const os = { family: 'image', mode: 'require', reference: text } as const;
    const { digest } = await images.resolve(os, { ...travel, credentials });
    await shelf.keep(digest);
    return this.get(caller, digest, travel.signal);
  }

  async publish(caller: Caller, digest: string, request: PublishRequest, travel: Travel): Promise<PublishedImage> {
    const { images, shelf } = this.#require();
    const target = images.access.reference(request.to);
    const credentials = await this.#credentials(caller, target, request.secret);
    const form = request.compression === 'none' ? 'tar' : 'gzip';
    return shelf.publish(digest, target, credentials, { ...travel, form, labels: request.labels });
  }

  async delete(caller: Caller, digest: string, signal: AbortSignal): Promise<Image> {
    const { shelf, keeper } = this.#require();
    const image = await this.get(caller, digest, signal);
    if ((await keeper.roots(signal)).images.has(digest)) throw new CaissonError('image_in_use', `${digest} is in use`);
    await shelf.remove(digest);
    return image;
  }

  collect(unusedSeconds: number | undefined, signal: AbortSignal): Promise<CollectedImages> {
    return this.#require().keeper.collect(unusedSeconds === undefined ? undefined : unusedSeconds * 1000, signal);
  }

  async tags(
    caller: Caller,
    query: { repository: string; secret?: string | undefined; limit: number; after?: string | undefined },
    signal: AbortSignal,
  ): Promise<{ items: string[]; next: string | null }> {
    const { repository } = await this.#repository(caller, query.repository, query.secret);
    const { tags, next } = await repository.tags(query.limit, query.after, signal);
    return { items: [...tags], next };
  }

  async manifest(
    caller: Caller,
    { reference, secret, head }: { reference: string; secret?: string | undefined; head: boolean },
    signal: AbortSignal,
  ): Promise<RegistryManifest> {
    const { repository, name } = await this.#repository(caller, reference, secret);
    if (!head) {
      const { digest, mediaType, size, document } = await repository.manifest(name, signal);
      return { reference, digest, mediaType, sizeBytes: size, manifest: document };
    }
    const found = await repository.head(name, signal);
    if (found === undefined) throw new CaissonError('image_not_found', `there is no ${reference}`);
    return { reference, digest: found.digest, mediaType: found.mediaType, sizeBytes: found.size, manifest: null };
  }

  /** Registries delete by digest: what the tag means now is asked for first, and told. */
  async unpublish(
    caller: Caller,
    { reference, secret }: { reference: string; secret?: string | undefined },
    signal: AbortSignal,
  ): Promise<RegistryManifest> {
    const { repository, name } = await this.#repository(caller, reference, secret, 'delete');
    const { digest, mediaType, size, document } = await repository.manifest(name, signal);
    await repository.delete(digest, signal);
    return { reference, digest, mediaType, sizeBytes: size, manifest: document };
  }

  async extensions(
    caller: Caller,
    { repository: text, secret }: { repository: string; secret?: string | undefined },
    signal: AbortSignal,
  ): Promise<RegistryExtension[]> {
    const { repository } = await this.#repository(caller, text, secret);
    return (await repository.extensions(signal)).map((one) => ({ ...one, endpoints: [...one.endpoints] }));
  }

  async #repository(caller: Caller, text: string, secret: string | undefined, actions: 'pull' | 'delete' = 'pull') {
    const { images, shelf } = this.#require();
    const reference = images.access.reference(text);
    const credentials = await this.#credentials(caller, reference, secret);
    const repository = await shelf.repository(reference, credentials, actions);
    return { repository, name: reference.digest ?? reference.tag };
  }

  async #credentials(
    caller: Caller,
    { host }: RegistryReference,
    secret: string | undefined,
  ): Promise<RegistryCredentials> {
    if (secret === undefined) return {};
    const { hostname, port } = new URL(`http://${host}`);
    const usual = isLoopback(host) ? 80 : 443;
    // `URL` leaves out the port that is usual for http.
    const number = port === '' ? (/:80$/.test(host) ? 80 : usual) : Number(port);
    const value = await this.#secrets.valueFor(caller, secret, hostname, number);
    const colon = value.indexOf(':');
    if (colon < 1) return { [host]: { token: value } };
    return { [host]: { username: value.slice(0, colon), password: value.slice(colon + 1) } };
  }

  #usesOf(caller: Caller, signal: AbortSignal): Promise<ImageUse[]> {
    const { tenant, project } = caller.owner;
    const seesAll = includesScope(caller.scope, 'manage');
    return this.#store.imageUses.of(seesAll ? { tenant } : { tenant, project }, signal);
  }

  /** Only what follows from the caller's own use, and from the content: not who else has it, nor since when it is here. */
  async #own(use: ImageUse): Promise<Image> {
    const kept = await this.#house?.shelf.find(use.digest);
    const { digest, sandboxes, snapshots } = use;
    const [sizeBytes, layers] = kept ? [kept.sizeBytes, [...kept.layers]] : [null, []];
    const unknown = { usedAt: null, madeAt: null, isKept: null };
    return { digest, name: nameIn(use.blueprint), sizeBytes, layers, sandboxes, snapshots, ...unknown };
  }

  #require(): ImageHouse {
    if (this.#house) return this.#house;
    throw new CaissonError('images_not_available');
  }
}

function keptImage({ layers, ...image }: KeptImage, use: ImageUse | undefined): Image {
  return { ...image, layers: [...layers], sandboxes: use?.sandboxes ?? 0, snapshots: use?.snapshots ?? 0 };
}

/** What the caller asked for; what somebody else called the same image is not told. */
function nameIn(blueprint: unknown): string | null {
  const os = (blueprint as Partial<WorkspaceBlueprint> | undefined)?.target?.os;
  if (os === undefined) return null;
  return os.reference ?? [os.family, os.release].filter(Boolean).join(' ');
}
