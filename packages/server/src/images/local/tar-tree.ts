import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { posix } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { checkName, type FileTree } from './file-tree.ts';

interface Member {
  readonly offset: number;
  readonly size: number;
  /** Older archives keep a layer once and link to it. */
  readonly link?: string;
}

const block = 512;
/** An archive of an image has some files for each layer. */
const maxMembers = 10_000;
const maxLinks = 8;
const maxPaxBytes = 65_536;

/** The files of a plain tar, found by one walk over its headers and read in place. */
export class TarTree implements FileTree {
  readonly #path: string;
  readonly #members: ReadonlyMap<string, Member>;

  private constructor(path: string, members: ReadonlyMap<string, Member>) {
    this.#path = path;
    this.#members = members;
  }

  static async open(path: string): Promise<TarTree> {
    const handle = await open(path, 'r');
    try {
      return new TarTree(path, await readMembers(handle));
    } finally {
      await handle.close();
    }
  }

  async has(name: string): Promise<boolean> {
    return this.#find(name) !== undefined;
  }

  async *read(name: string): AsyncGenerator<Uint8Array> {
    const member = this.#find(name);
    if (member === undefined) throw new CaissonError('image_invalid', `the archive has no ${name}`);
    if (member.size === 0) return;
    const end = member.offset + member.size - 1;
    yield* createReadStream(this.#path, { start: member.offset, end, highWaterMark: 1024 * 1024 });
  }

  #find(name: string): Member | undefined {
    let place = posix.normalize(checkName(name));
    for (let hop = 0; hop < maxLinks; hop++) {
      const member = this.#members.get(place);
      if (member?.link === undefined) return member;
      place = posix.join(posix.dirname(place), member.link);
    }
    return undefined;
  }
}

async function readMembers(handle: FileHandle): Promise<Map<string, Member>> {
  const members = new Map<string, Member>();
  const { size: fileSize } = await handle.stat();
  const header = Buffer.alloc(block);
  let pax = new Map<string, string>();
  for (let at = 0, count = 0; at + block <= fileSize; count++) {
    await handle.read(header, 0, block, at);
    at += block;
    if (header.every((byte) => byte === 0)) break;
    if (count === maxMembers)
      throw new CaissonError('image_too_large', `the archive has more than ${maxMembers} files`);
    if (!checksumFits(header)) throw new CaissonError('image_invalid', 'the file is not a tar archive');
    const size = Number(pax.get('size') ?? numberAt(header, 124, 12));
    if (!Number.isSafeInteger(size) || size < 0 || at + size > fileSize)
      throw new CaissonError('image_invalid', 'the archive is not whole');
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === 'x' || type === 'g') {
      if (type === 'x') pax = await readPax(handle, at, size);
    } else {
      const name = posix.normalize(pax.get('path') ?? nameOf(header));
      if (type === '0' || type === '\0') members.set(name, { offset: at, size });
      else if (type === '1')
        members.set(name, { offset: 0, size: 0, link: posix.relative(posix.dirname(name), linkOf(header, pax)) });
      else if (type === '2') members.set(name, { offset: 0, size: 0, link: linkOf(header, pax) });
      pax = new Map();
    }
    at += Math.ceil(size / block) * block;
  }
  return members;
}

async function readPax(handle: FileHandle, at: number, size: number): Promise<Map<string, string>> {
  if (size > maxPaxBytes) throw new CaissonError('image_invalid', 'a header of the archive is too large');
  const text = Buffer.alloc(size);
  await handle.read(text, 0, size, at);
  return new Map(
    [...text.toString('utf8').matchAll(/^\d+ ([^=\n]+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]),
  );
}

function textAt(header: Buffer, at: number, size: number): string {
  const end = header.indexOf(0, at);
  return header.toString('utf8', at, end === -1 || end > at + size ? at + size : end);
}

function nameOf(header: Buffer): string {
  const prefix = textAt(header, 257, 6) === 'ustar' ? textAt(header, 345, 155) : '';
  return prefix === '' ? textAt(header, 0, 100) : `${prefix}/${textAt(header, 0, 100)}`;
}

function linkOf(header: Buffer, pax: ReadonlyMap<string, string>): string {
  return pax.get('linkpath') ?? textAt(header, 157, 100);
}

/** Octal digits, or GNU's base 256 for what they cannot say. */
function numberAt(header: Buffer, at: number, size: number): number {
  if ((header[at] ?? 0) & 0x80) return Number(header.readBigUInt64BE(at + size - 8));
  return Number.parseInt(textAt(header, at, size).trim() || '0', 8);
}

function checksumFits(header: Buffer): boolean {
  let sum = 0;
  for (let n = 0; n < block; n++) sum += n >= 148 && n < 156 ? 32 : (header[n] ?? 0);
  return sum === numberAt(header, 148, 8);
}
