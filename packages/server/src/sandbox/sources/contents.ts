import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, sep } from 'node:path';
import { CaissonError, hasCode, type NetworkRules } from '@caisson/contract';
import { defaultBounds } from '../../images/bounds.ts';
import { decompressed } from '../../images/decompress.ts';
import { digestEnd } from '../../images/digest.ts';
import { Packer } from '../../images/pack/packer.ts';
import type { Reach } from '../../network/dial/reach.ts';
import { download } from './download.ts';
import type { NamedSource, Source } from './source-name.ts';

export type ContentSource = Extract<Source, { kind: 'folder' | 'archive' }>;

export interface ContentsOptions {
  readonly reach: Pick<Reach, 'connect'>;
  readonly guestProgram: string;
  /** Folders of the machine that specs may take files from. None when absent: callers are not the machine's users. */
  readonly folders?: readonly string[] | undefined;
  readonly idleMs?: number | undefined;
}

export interface OpenContent {
  readonly rules: NetworkRules;
  /** What it was when it was resolved; something else is refused. */
  readonly digest: string | undefined;
  readonly signal: AbortSignal;
}

const zipMagic = Buffer.from('PK\u0003\u0004', 'latin1');

export function isContent(named: NamedSource): named is NamedSource<ContentSource> {
  return named.source.kind !== 'git';
}

/** Folders and archives, as one plain tar each. */
export class Contents {
  readonly #options: ContentsOptions;
  readonly #packer: Packer;

  constructor(options: ContentsOptions) {
    this.#options = options;
    this.#packer = new Packer(options.guestProgram, defaultBounds);
  }

  /** Of an archive's bytes, or of the files of a folder. */
  async digest(source: ContentSource, rules: NetworkRules, signal: AbortSignal): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of this.#bytes(source, rules, signal)) hash.update(chunk);
    return digestEnd(hash);
  }

  async *open(source: ContentSource, { rules, digest, signal }: OpenContent): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    const bytes = hashed(this.#bytes(source, rules, signal), hash);
    try {
      yield* source.kind === 'folder' ? bytes : plainTar(bytes);
    } catch (error) {
      if (!hasCode(error, 'image_invalid', 'image_too_large')) throw error;
      throw new CaissonError('source_failed', error.message.replace('a layer', 'it'), { cause: error });
    }
    // What the archive has after its end is a part of it.
    for await (const _ of bytes);
    if (digest === undefined || digestEnd(hash) === digest) return;
    throw new CaissonError('source_failed', 'it has changed since it was asked for', { hint: 'Repeat it.' });
  }

  async *#bytes(source: ContentSource, rules: NetworkRules, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { reach, idleMs } = this.#options;
    if (source.kind === 'archive' && source.url !== undefined) {
      yield* download(reach, source.url, { rules, signal, idleMs });
      return;
    }
    const path = await this.#allowed(source.path ?? '');
    const isFolder = (await stat(path)).isDirectory();
    if (isFolder !== (source.kind === 'folder'))
      throw new CaissonError('source_not_found', isFolder ? 'it is a folder' : 'it is not a folder');
    if (isFolder) yield* this.#packer.open(path, signal);
    else yield* createReadStream(path, { signal }) as AsyncIterable<Uint8Array>;
  }

  /** After all links: a link within an allowed folder leads to its target, which must be allowed itself. */
  async #allowed(path: string): Promise<string> {
    const { folders = [] } = this.#options;
    if (folders.length === 0)
      throw new CaissonError('source_denied', 'this server gives no files of its machine', {
        hint: 'Start it with `--source-folder`, or use a repository or the URL of an archive.',
      });
    const refuse = () =>
      new CaissonError('source_not_found', 'there is nothing there that the server may give', {
        hint: 'The path is a whole one of the machine of the server, below one of its `--source-folder`.',
      });
    const real = isAbsolute(path) ? await realpath(path).catch(() => undefined) : undefined;
    if (real === undefined) throw refuse();
    const allowed = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
    if (!allowed.some((folder) => folder !== undefined && (real === folder || real.startsWith(folder + sep))))
      throw refuse();
    return real;
  }
}

async function* plainTar(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const chunk of decompressed(bytes)) {
    if (isFirst && Buffer.from(chunk.subarray(0, 4)).equals(zipMagic))
      throw new CaissonError('source_failed', 'it is a zip archive, which is not read', {
        hint: 'Give a tar: plain, or compressed with gzip or zstd.',
      });
    isFirst = false;
    yield chunk;
  }
}

async function* hashed(bytes: AsyncIterable<Uint8Array>, hash: ReturnType<typeof createHash>) {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}
