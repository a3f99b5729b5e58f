import { CaissonError } from '@caisson/contract';
import { short } from '../digest.ts';
import { wordsOf } from './refusal.ts';
import { pause, type RegistryClient } from './registry-client.ts';

/** Content in a file, named by its digest. */
export interface StoredBlob {
  readonly digest: string;
  readonly size: number;
  readonly file: string;
}

export type UploadOutcome = 'there' | 'mounted' | 'sent';

export interface UploadOptions {
  readonly signal: AbortSignal;
  /** A repository of the same registry that has had it. */
  readonly mountFrom?: string | undefined;
  /** How much goes in one request. */
  readonly chunkBytes?: number;
}

/** As much as proxies let pass on a good day: each piece costs the registry a look at what it has. */
const defaultChunkBytes = 256 * 1024 ** 2;
/** What is left when a proxy finds every piece too large. */
const leastChunkBytes = 256 * 1024;
/** Failures in a row without a byte in between. */
const maxFailures = 4;

/** Brings a blob to a registry that may have it already. What breaks off goes on where the registry says that it is. */
export async function uploadBlob(
  client: RegistryClient,
  blob: StoredBlob,
  options: UploadOptions,
): Promise<UploadOutcome> {
  const { signal, mountFrom } = options;
  const found = await client.send({ method: 'HEAD', at: `blobs/${blob.digest}`, accept: [404] }, signal);
  if (found.status !== 404) return 'there';
  const opened = await open(client, blob, signal, mountFrom);
  if (opened === 'mounted') return 'mounted';
  await new Upload(client, blob, opened, options).run();
  return 'sent';
}

interface Opened {
  readonly at: URL;
  /** Some registries take no piece but the last below this. */
  readonly leastBytes: number;
}

async function open(
  client: RegistryClient,
  { digest }: StoredBlob,
  signal: AbortSignal,
  mountFrom?: string,
): Promise<Opened | 'mounted'> {
  const query = mountFrom === undefined ? '' : `?${new URLSearchParams({ mount: digest, from: mountFrom })}`;
  const response = await client.send({ method: 'POST', at: `blobs/uploads/${query}` }, signal);
  await response.body?.cancel();
  if (response.status === 201) return 'mounted';
  const least = Number(response.headers.get('oci-chunk-min-length') ?? 0);
  const at = client.given(response.headers.get('location'));
  return { at, leastBytes: Number.isSafeInteger(least) && least > 0 ? least : 0 };
}

/** One blob on its way. */
class Upload {
  readonly #client: RegistryClient;
  readonly #blob: StoredBlob;
  readonly #signal: AbortSignal;
  #chunkBytes: number;
  #at: URL;
  #leastBytes: number;
  #offset = 0;
  /** Of every attempt. */
  #furthest = 0;
  #failures = 0;

  constructor(client: RegistryClient, blob: StoredBlob, opened: Opened, options: UploadOptions) {
    this.#client = client;
    this.#blob = blob;
    this.#signal = options.signal;
    this.#at = opened.at;
    this.#leastBytes = opened.leastBytes;
    this.#chunkBytes = options.chunkBytes ?? defaultChunkBytes;
  }

  async run(): Promise<void> {
    for (;;) {
      try {
        if (await this.#next()) return;
      } catch (error) {
        this.#signal.throwIfAborted();
        if (error instanceof CaissonError && error.context.unreachable !== true) throw error;
        await this.#goOn(error as Error);
      }
    }
  }

  /** The next piece; the last one, or all of it in one, closes the upload. Answers whether that is done. */
  async #next(): Promise<boolean> {
    const { size, file } = this.#blob;
    const most = Math.max(this.#chunkBytes, this.#leastBytes);
    const rest = size - this.#offset;
    const isLast = rest <= most;
    const part = { file, start: this.#offset, size: Math.min(rest, most) };
    const ranged = this.#offset === 0 && isLast ? {} : { 'content-range': rangeOf(part) };
    const response = await this.#client.send(
      {
        method: isLast ? 'PUT' : 'PATCH',
        at: isLast ? this.#closing() : this.#at,
        headers: { 'content-type': 'application/octet-stream', ...(part.size === 0 ? {} : ranged) },
        body: part.size === 0 ? new Uint8Array(0) : part,
        accept: [404, 413, 416],
        attempts: 1,
      },
      this.#signal,
    );
    const said = (await wordsOf(response)) ?? '';
    if (response.status === 413) return this.#smaller(part.size);
    if (response.status === 404 || response.status === 416) throw new Error(`it lost the upload: ${printable(said)}`);
    if (isLast) {
      this.#check(response);
      return true;
    }
    this.#at = this.#client.given(response.headers.get('location') ?? this.#at.href);
    const has = endOf(response) ?? part.start + part.size;
    this.#advance(Math.min(has, part.start + part.size));
    return false;
  }

  #closing(): URL {
    const url = new URL(this.#at);
    url.searchParams.set('digest', this.#blob.digest);
    return url;
  }

  /** A registry that stored something else than it was sent must not be taken for one that has it. */
  #check(response: Response): void {
    const told = response.headers.get('docker-content-digest');
    if (told === null || !told.startsWith('sha256:') || told === this.#blob.digest) return;
    throw new CaissonError(
      'registry_failed',
      `the registry ${this.#client.host} took ${short(this.#blob.digest)} for ${short(told)}`,
      { context: { sent: this.#blob.digest, told } },
    );
  }

  /** Begins again where the registry is, with less at a time. */
  async #smaller(refused: number): Promise<false> {
    if (refused <= Math.max(leastChunkBytes, this.#leastBytes))
      throw new CaissonError('registry_failed', `the registry ${this.#client.host} takes not even small pieces`, {
        hint: 'A proxy before it may limit the size of requests.',
      });
    this.#chunkBytes = Math.max(leastChunkBytes, Math.floor(refused / 4));
    await this.#lookWhere();
    return false;
  }

  #advance(to: number): void {
    this.#offset = to;
    if (to <= this.#furthest) return;
    this.#furthest = to;
    this.#failures = 0;
  }

  /** After a failure: from where the registry is, or from the start where it knows nothing of the upload any more. */
  async #goOn(error: Error): Promise<void> {
    this.#failures++;
    if (this.#failures >= maxFailures)
      throw new CaissonError(
        'registry_failed',
        `the upload of ${short(this.#blob.digest)} broke off after ${this.#furthest} of ${this.#blob.size} bytes: ${reason(error)}`,
        { cause: error, context: { unreachable: true } },
      );
    await pause(this.#failures, this.#signal);
    await this.#lookWhere();
  }

  async #lookWhere(): Promise<void> {
    const status = await this.#client.send({ at: this.#at, accept: [400, 404, 405, 416] }, this.#signal);
    await status.body?.cancel();
    const has = status.status === 204 ? endOf(status) : undefined;
    if (has !== undefined && has <= this.#blob.size) {
      const location = status.headers.get('location');
      if (location !== null) this.#at = this.#client.given(location);
      this.#advance(has);
      return;
    }
    const opened = await open(this.#client, this.#blob, this.#signal);
    if (opened === 'mounted') throw new CaissonError('registry_failed', 'the registry answers what it was not asked');
    this.#at = opened.at;
    this.#offset = 0;
  }
}

function rangeOf({ start, size }: { readonly start: number; readonly size: number }): string {
  return `${start}-${start + size - 1}`;
}

/**
 * How many bytes the registry has. `0-0` is said for none and for one alike; as nobody stops after one, it is none. With
 * no range it is not known.
 */
function endOf(response: Response): number | undefined {
  const end = /^(?:bytes=)?0-(\d{1,15})$/.exec(response.headers.get('range') ?? '')?.[1];
  if (end === undefined) return undefined;
  return end === '0' ? 0 : Number(end) + 1;
}

function reason(error: Error): string {
  return printable(error.message) || 'the connection was closed';
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 200);
}
