import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { CaissonError } from '@caisson/contract';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';
import { defaultBounds } from '../../images/bounds.ts';
import { archiveEnd, paddingOf, type TarMember, tarMember } from '../../images/pack/tar-member.ts';

/** `PK` and how a first member, or an archive without any, goes on. */
const beginnings = [Buffer.from('PK\u0003\u0004', 'latin1'), Buffer.from('PK\u0005\u0006', 'latin1')];

export interface ZipBounds {
  /** All files unpacked. */
  readonly bytes: number;
  readonly entries: number;
  /** Beyond the bytes that are free, an archive may unpack to so many times its own size. Sources have a tenth of it. */
  readonly ratio: number;
  readonly freeBytes: number;
}

const ownBounds: ZipBounds = {
  bytes: defaultBounds.layerBytes,
  entries: defaultBounds.layerEntries,
  ratio: 200,
  freeBytes: 256 * 1024 ** 2,
};

/** Longer no path is anywhere. */
const maxLinkBytes = 4_096;
const madeOnUnix = [3, 19];
const fileTypes = { mask: 0o170000, file: 0o100000, directory: 0o040000, symlink: 0o120000 };

export function isZip(head: Uint8Array): boolean {
  return beginnings.some((beginning) => beginning.equals(head.subarray(0, beginning.length)));
}

/**
 * A zip as a plain tar, member by member. Its directory is at its end, so it lies on the disk meanwhile, in a file without
 * a name: whatever happens, nothing is left of it. Whoever unpacks the tar holds it to its folder, as every other; here
 * names are refused that lead out of it, so that the error says which.
 */
export async function* zipTar(
  bytes: AsyncIterable<Uint8Array>,
  folder: string,
  bounds: ZipBounds = ownBounds,
): AsyncGenerator<Uint8Array> {
  const file = await namelessFile(folder);
  try {
    let size = 0;
    for await (const chunk of bytes) {
      await writeAll(file, chunk);
      size += chunk.length;
    }
    try {
      const zip = await fromFdPromise(file.fd, { autoClose: false });
      yield* members(zip, size, bounds);
      yield archiveEnd;
    } catch (error) {
      if (error instanceof CaissonError) throw error;
      throw new CaissonError('source_failed', `the zip archive cannot be read: ${(error as Error).message}`, {
        cause: error,
      });
    }
  } finally {
    await file.close();
  }
}

async function namelessFile(folder: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `zip-${randomBytes(16).toString('hex')}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}

async function* members(zip: ZipFile, size: number, bounds: ZipBounds): AsyncGenerator<Uint8Array> {
  let total = 0;
  if (zip.entryCount > bounds.entries) throw refuse(`the zip archive has more than ${bounds.entries} members`);
  for await (const entry of zip.eachEntry()) {
    total += entry.uncompressedSize;
    // What it says of its sizes is held against what comes: a file that is longer ends the whole.
    if (total > bounds.bytes) throw refuse(`the zip archive has more than ${bounds.bytes} bytes`);
    if (total > bounds.freeBytes && total > size * bounds.ratio)
      throw refuse(`the zip archive unpacks to more than ${bounds.ratio} times its size`);
    yield* member(zip, entry);
  }
}

async function* member(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const about = aboutEntry(entry);
  if (entry.isEncrypted()) throw refuse(`\`${about.name}\` in the zip archive is encrypted`);
  if (about.kind === 'directory') {
    yield tarMember(about);
    return;
  }
  const { uncompressedSize: size } = entry;
  if (about.kind === 'symlink') {
    if (size === 0 || size > maxLinkBytes) throw refuse(`the link \`${about.name}\` in the zip archive leads nowhere`);
    const target: Uint8Array[] = [];
    for await (const chunk of content(zip, entry)) target.push(chunk);
    const link = Buffer.concat(target).toString('utf8');
    if (link.includes('\0')) throw refuse(`the link \`${about.name}\` in the zip archive leads nowhere`);
    yield tarMember({ ...about, link });
    return;
  }
  yield tarMember({ ...about, size });
  yield* content(zip, entry);
  yield paddingOf(size);
}

async function* content(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await zip.openReadStreamPromise(entry);
  let sum = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
  } finally {
    stream.destroy();
  }
  if (sum !== entry.crc32) throw refuse(`\`${entry.fileName}\` in the zip archive is damaged`);
}

function aboutEntry(entry: Entry): Pick<TarMember, 'name' | 'kind' | 'mode' | 'changedAt'> {
  const { fileName } = entry;
  const name = fileName.replace(/\/+$/, '');
  const parts = name.split('/');
  if (name === '' || name.includes('\0') || parts.includes('..') || name.startsWith('/'))
    throw refuse(`the name \`${fileName.replaceAll('\0', '�')}\` in the zip archive leads out of it`);
  const unix = madeOnUnix.includes(entry.versionMadeBy >>> 8) ? entry.externalFileAttributes >>> 16 : 0;
  const kind = kindOf(unix & fileTypes.mask, fileName.endsWith('/'));
  if (kind === undefined) throw refuse(`\`${name}\` in the zip archive is neither a file nor a folder nor a link`);
  const given = unix & 0o777;
  const mode = given === 0 ? (kind === 'directory' ? 0o755 : 0o644) : given;
  const changed = Math.floor(entry.getLastModDate({ timezone: 'UTC' }).getTime() / 1000);
  return { name, kind, mode, changedAt: changed > 0 ? changed : 0 };
}

function kindOf(type: number, isFolder: boolean): TarMember['kind'] | undefined {
  if (isFolder || type === fileTypes.directory) return 'directory';
  if (type === fileTypes.symlink) return 'symlink';
  return type === 0 || type === fileTypes.file ? 'file' : undefined;
}

function refuse(message: string): CaissonError {
  return new CaissonError('source_failed', message);
}
