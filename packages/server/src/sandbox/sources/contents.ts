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
import { isZip, zipTar } from './zip-tar.ts';

export type ContentSource = Extract<Source, { kind: 'folder' | 'archive' }>;

export interface ContentsOptions {
  readonly reach: Pick<Reach, 'connect'>;
  readonly guestProgram: string;
  /** Where an archive lies that cannot be read as it comes. */
  readonly scratchFolder: string;
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

const tarBlockBytes = 512;
const magicBytes = 4;
const archiveHint = 'Give a zip, or a tar: plain, or compressed with gzip or zstd.';

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
    let isRead = false;
    try {
      yield* source.kind === 'folder' ? bytes : this.#plain(bytes);
      isRead = true;
    } catch (error) {
      if (!hasCode(error, 'image_invalid', 'image_too_large')) throw error;
      throw new CaissonError('source_failed', error.message.replace('a layer', 'it'), { cause: error });
    } finally {
      if (!isRead) await bytes.return(undefined);
    }
    // What the archive has after its end is a part of it.
    for await (const _ of bytes);
    if (digest === undefined || digestEnd(hash) === digest) return;
    throw new CaissonError('source_failed', 'it has changed since it was asked for', { hint: 'Repeat it.' });
  }

  /** The first bytes tell what it is, whatever it is called. */
  async *#plain(bytes: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { head, whole } = await peek(bytes, magicBytes);
    yield* isZip(head) ? zipTar(whole, this.#options.scratchFolder) : plainTar(whole);
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
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of decompressed(bytes)) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < tarBlockBytes) continue;
    requireTar(head);
    yield head;
    head = undefined;
  }
  if (head !== undefined) requireTar(head);
}

/** An archive begins with a header whose sum is right, or with its own end. */
function requireTar(head: Buffer): void {
  const block = head.subarray(0, tarBlockBytes);
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  const written = Number.parseInt(block.toString('latin1', 148, 156).replace(/[\0 ]+/g, ''), 8);
  const isEnd = block.length === tarBlockBytes && block.every((byte) => byte === 0);
  if (block.length < tarBlockBytes || (sum !== written && !isEnd))
    throw new CaissonError('source_failed', 'it is no archive', { hint: archiveHint });
}

/** The first bytes, and everything with them again. What comes is not closed when its reader ends early: others read on. */
async function peek(bytes: AsyncGenerator<Uint8Array>, count: number) {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < count) {
    const next = await bytes.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    if (head.length > 0) yield head;
    for (let next = await bytes.next(); !next.done; next = await bytes.next()) yield next.value;
  }
  return { head, whole: whole() };
}

async function* hashed(bytes: AsyncIterable<Uint8Array>, hash: ReturnType<typeof createHash>) {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}
