import type { CollectedImages, Image, PublishedImage, RegistryExtension, RegistryManifest } from '@caisson/contract';
import type { CallAnswer, CallInput, CallOptions } from './call.ts';
import type { Connection } from './connection.ts';
import { given } from './given.ts';
import { callWithProgress, type ProgressOptions } from './progress-call.ts';

export interface RegistryOptions {
  /** A secret of the project with the credentials, in place of the server's own. */
  readonly secret?: string | undefined;
}

export type PublishOptions = Omit<CallInput<'image.publish'>['body'], 'to'> & ProgressOptions;

/**
 * Images. Everybody sees those of their own sandboxes and snapshots; what is kept besides, and registries, are for keys
 * with the scope `admin`.
 */
export class Images {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Those of your sandboxes and snapshots; with `all` every one that the server keeps. */
  async list({ all = false, ...calls }: CallOptions & { readonly all?: boolean } = {}): Promise<Image[]> {
    const query = all ? { all: 'true' as const } : {};
    return (await this.#connection.call('image.list', { query, ...calls })).items;
  }

  get(digest: string, options: CallOptions = {}): Promise<Image> {
    return this.#connection.call('image.get', { params: { digest }, ...options });
  }

  /** Fetches an image; it stays until it is deleted. */
  pull(reference: string, { secret, ...options }: RegistryOptions & ProgressOptions = {}): Promise<Image> {
    const body = { reference, ...given({ secret }) };
    return callWithProgress(this.#connection, 'image.pull', { params: {}, body }, options);
  }

  /** Brings an image to a registry, as `host/name:tag`; answers the digest that it has there. */
  publish(digest: string, to: string, { signal, onProgress, ...body }: PublishOptions = {}): Promise<PublishedImage> {
    const call = { params: { digest }, body: { to, ...given(body) } };
    return callWithProgress(this.#connection, 'image.publish', call, { signal, onProgress });
  }

  /** Refused while something uses it. */
  delete(digest: string, options: CallOptions = {}): Promise<Image> {
    return this.#connection.call('image.delete', { params: { digest }, ...options });
  }

  /** Removes what nothing refers to, now and not in the next hour. */
  gc({
    unusedSeconds,
    ...options
  }: { readonly unusedSeconds?: number } & ProgressOptions = {}): Promise<CollectedImages> {
    const body = given({ unusedSeconds });
    return callWithProgress(this.#connection, 'image.gc', { params: {}, body }, options);
  }

  /** One page of the tags of `host/name`. */
  tags(
    repository: string,
    { secret, limit, after, ...calls }: RegistryOptions & CallOptions & { limit?: number; after?: string } = {},
  ): Promise<CallAnswer<'image.tags'>> {
    const query = { repository, ...given({ secret, limit, after }) };
    return this.#connection.call('image.tags', { query, ...calls });
  }

  /** A manifest of a registry; with `head` only what its head says. */
  manifest(
    reference: string,
    { secret, head = false, ...calls }: RegistryOptions & CallOptions & { readonly head?: boolean } = {},
  ): Promise<RegistryManifest> {
    const query = { reference, ...given({ secret }), ...(head ? { head: 'true' as const } : {}) };
    return this.#connection.call('image.manifest', { query, ...calls });
  }

  /** Deletes an image from a registry, with all of its tags. */
  unpublish(reference: string, { secret, ...calls }: RegistryOptions & CallOptions = {}): Promise<RegistryManifest> {
    return this.#connection.call('image.unpublish', { query: { reference, ...given({ secret }) }, ...calls });
  }

  /** What the registry of `host/name` can do beyond the standard. */
  async extensions(
    repository: string,
    { secret, ...calls }: RegistryOptions & CallOptions = {},
  ): Promise<RegistryExtension[]> {
    const query = { repository, ...given({ secret }) };
    return (await this.#connection.call('image.extensions', { query, ...calls })).items;
  }
}
