import { CaissonError } from '@caisson/contract';
import * as z from 'zod';
import type { ImageBounds } from '../bounds.ts';
import { digestOf, digestPattern, readBounded, short } from '../digest.ts';
import { check, mediaTypes, parseJson } from '../oci/documents.ts';
import { bodyOf } from './answer-body.ts';
import type { RegistryClient } from './registry-client.ts';

const accept = Object.values(mediaTypes).join(', ');
/** A page of tags, and a list of extensions. */
const maxListBytes = 4 * 1024 ** 2;

const tagsSchema = z.object({ tags: z.array(z.string().max(200)).max(100_000).nullish() });
const extensionsSchema = z.object({
  extensions: z
    .array(
      z.object({
        name: z.string().max(200),
        url: z.string().max(2000).nullish(),
        description: z.string().max(2000).nullish(),
        endpoints: z.array(z.string().max(2000)).max(100).nullish(),
      }),
    )
    .max(100)
    .nullish(),
});

export interface TagPage {
  readonly tags: readonly string[];
  /** The last tag of the page when there are more. */
  readonly next: string | null;
}

/** What is known of a manifest from its head alone. */
export interface ManifestHead {
  readonly digest: string | null;
  readonly mediaType: string;
  readonly size: number | null;
}

export interface RegistryExtension {
  readonly name: string;
  readonly url: string | null;
  readonly description: string | null;
  readonly endpoints: readonly string[];
}

/** What can be asked of a repository besides the content of images. */
export class Repository {
  readonly #client: RegistryClient;
  readonly #bounds: ImageBounds;

  constructor(client: RegistryClient, bounds: ImageBounds) {
    this.#client = client;
    this.#bounds = bounds;
  }

  /** In the registry's order, the ones after `after`. */
  async tags(limit: number, after: string | undefined, signal: AbortSignal): Promise<TagPage> {
    const query = new URLSearchParams({ n: String(limit), ...(after === undefined ? {} : { last: after }) });
    const response = await this.#client.get(`tags/list?${query}`, {}, signal);
    const what = 'the list of tags';
    const { tags } = check(
      tagsSchema,
      parseJson(await readBounded(bodyOf(response, signal), maxListBytes, what), what),
      what,
    );
    const all = tags ?? [];
    const isMore = /rel="?next"?/i.test(response.headers.get('link') ?? '');
    if (isMore || (all.length <= limit && !all.includes(after ?? ''))) {
      const page = all.slice(0, limit);
      return { tags: page, next: isMore ? (page.at(-1) ?? null) : null };
    }
    // It gives all of them whatever it is asked for, and in no order.
    const later = [...all].sort().filter((tag) => after === undefined || tag > after);
    const page = later.slice(0, limit);
    return { tags: page, next: later.length > limit ? (page.at(-1) ?? null) : null };
  }

  /** Undefined when there is none. */
  async head(name: string, signal: AbortSignal): Promise<ManifestHead | undefined> {
    const response = await this.#client.send(
      { method: 'HEAD', at: `manifests/${name}`, headers: { accept }, accept: [404] },
      signal,
    );
    return response.status === 404 ? undefined : headOf(response);
  }

  /** The manifest or index, held against what its name or the registry promises. */
  async manifest(name: string, signal: AbortSignal): Promise<ManifestHead & { digest: string; document: unknown }> {
    const response = await this.#client.get(`manifests/${name}`, { accept }, signal);
    const bytes = await readBounded(bodyOf(response, signal), this.#bounds.documentBytes, 'the manifest');
    const digest = digestOf(bytes);
    const head = headOf(response);
    const promised = digestPattern.test(name) ? name : head.digest;
    if (promised !== null && promised !== digest)
      throw new CaissonError('image_invalid', `what is given for ${name} has the digest ${short(digest)}`, {
        context: { promised, found: digest },
      });
    return { ...head, digest, size: bytes.length, document: parseJson(bytes, 'the manifest') };
  }

  async put(name: string, manifest: Buffer, mediaType: string, signal: AbortSignal): Promise<void> {
    const response = await this.#client.send(
      { method: 'PUT', at: `manifests/${name}`, headers: { 'content-type': mediaType }, body: manifest },
      signal,
    );
    await response.body?.cancel();
    const [sent, told] = [digestOf(manifest), response.headers.get('docker-content-digest')];
    if (told === null || !told.startsWith('sha256:') || told === sent) return;
    throw new CaissonError(
      'registry_failed',
      `the registry ${this.#client.host} took ${short(sent)} for ${short(told)}`,
      {
        context: { sent, told },
      },
    );
  }

  /** A digest takes its tags with it. */
  async delete(digest: string, signal: AbortSignal): Promise<void> {
    const response = await this.#client.send({ method: 'DELETE', at: `manifests/${digest}`, accept: [400] }, signal);
    await response.body?.cancel();
    if (response.status === 400)
      throw new CaissonError('registry_failed', `the registry ${this.#client.host} does not delete this image`, {
        context: { status: 400 },
      });
  }

  /** None where the registry has no way to tell. */
  async extensions(signal: AbortSignal): Promise<RegistryExtension[]> {
    const response = await this.#client.send({ at: '/_oci/ext/discover', accept: [404] }, signal);
    if (response.status === 404) {
      await response.body?.cancel();
      return [];
    }
    const what = 'the list of extensions';
    const found = check(
      extensionsSchema,
      parseJson(await readBounded(bodyOf(response, signal), maxListBytes, what), what),
      what,
    );
    return (found.extensions ?? []).map(({ name, url, description, endpoints }) => ({
      name,
      url: url ?? null,
      description: description ?? null,
      endpoints: endpoints ?? [],
    }));
  }
}

function headOf(response: Response): ManifestHead {
  const digest = response.headers.get('docker-content-digest');
  const size = Number(response.headers.get('content-length') ?? Number.NaN);
  return {
    digest: digest !== null && digestPattern.test(digest) ? digest : null,
    mediaType: (response.headers.get('content-type') ?? '').slice(0, 255),
    size: Number.isSafeInteger(size) ? size : null,
  };
}
