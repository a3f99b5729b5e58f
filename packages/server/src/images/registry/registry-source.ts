import { CaissonError } from '@caisson/contract';
import type { ImageBounds } from '../bounds.ts';
import { readBounded, short } from '../digest.ts';
import type { ContentSource } from '../oci/content.ts';
import { type Descriptor, mediaTypes } from '../oci/documents.ts';
import type { RegistryReference } from '../reference.ts';
import { bodyOf } from './answer-body.ts';
import { pause, type RegistryClient } from './registry-client.ts';

const accept = Object.values(mediaTypes).join(', ');
/** Failures in a row without a byte in between. */
const maxFailures = 4;

/** The content of an image in a registry. A download that breaks off goes on where it was. */
export class RegistrySource implements ContentSource {
  readonly #client: RegistryClient;
  readonly #reference: RegistryReference;
  readonly #bounds: ImageBounds;

  constructor(client: RegistryClient, reference: RegistryReference, bounds: ImageBounds) {
    this.#client = client;
    this.#reference = reference;
    this.#bounds = bounds;
  }

  async root(signal: AbortSignal): Promise<{ bytes: Buffer; digest?: string }> {
    const { tag, digest } = this.#reference;
    const response = await this.#client.get(`manifests/${digest ?? tag}`, { accept }, signal);
    const bytes = await readBounded(bodyOf(response, signal), this.#bounds.documentBytes, 'the manifest');
    const promised = digest ?? response.headers.get('docker-content-digest');
    // A promise in another algorithm is not one that can be held against the content.
    return promised?.startsWith('sha256:') ? { bytes, digest: promised } : { bytes };
  }

  async *document({ digest }: Descriptor, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield* bodyOf(await this.#client.get(`manifests/${digest}`, { accept }, signal), signal);
  }

  async *blob({ digest, size }: Descriptor, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let offset = 0;
    let failures = 0;
    for (;;) {
      try {
        for await (const chunk of this.#from(digest, offset, signal)) {
          offset += chunk.length;
          failures = 0;
          yield chunk;
        }
        // An orderly end is the end of what the registry has; whether that is enough is told by the reader.
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof CaissonError) throw error;
        failures++;
        if (failures === maxFailures)
          throw new CaissonError(
            'registry_failed',
            `the download of ${short(digest)} broke off after ${offset} of ${size} bytes: ${(error as Error).message}`,
            { cause: error },
          );
        await pause(failures, signal);
      }
    }
  }

  async *#from(digest: string, offset: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const headers: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` };
    const response = await this.#client.get(`blobs/${digest}`, headers, signal);
    const begins = response.status === 206 ? beginOf(response) : 0;
    if (begins > offset) throw new Error('it goes on at another place');
    let skip = offset - begins;
    for await (const chunk of bodyOf(response, signal)) {
      if (skip < chunk.length) yield skip === 0 ? chunk : chunk.subarray(skip);
      skip = Math.max(0, skip - chunk.length);
    }
  }
}

function beginOf(response: Response): number {
  const begin = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1];
  return begin === undefined ? 0 : Number(begin);
}
