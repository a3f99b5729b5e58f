import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CaissonError } from '@caisson/contract';
import { decompressed } from '../decompress.ts';
import { TarTree } from './tar-tree.ts';

/** The files of an archive. A compressed one is first made plain in the draft folder: its parts are read out of order. */
export async function openArchive(path: string, draft: string, most: number, signal: AbortSignal): Promise<TarTree> {
  if (!(await isCompressed(path))) return TarTree.open(path);
  const plain = join(draft, 'archive.tar');
  const content = bounded(decompressed(createReadStream(path)), most);
  await pipeline(Readable.from(content, { objectMode: false }), createWriteStream(plain, { mode: 0o600 }), { signal });
  return TarTree.open(plain);
}

/** A tar begins with the name of its first member, never with one of these marks. */
async function isCompressed(path: string): Promise<boolean> {
  const handle = await open(path, 'r');
  try {
    if (!(await handle.stat()).isFile()) throw new CaissonError('image_not_found', `${path} is not a file`);
    const head = Buffer.alloc(4);
    await handle.read(head, 0, 4, 0);
    return head.readUInt16BE(0) === 0x1f8b || head.readUInt32LE(0) === 0xfd2fb528;
  } finally {
    await handle.close();
  }
}

async function* bounded(content: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > most) throw new CaissonError('image_too_large', `the archive has more than ${most} bytes`);
    yield chunk;
  }
}
