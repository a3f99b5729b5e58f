import { createHash, type Hash } from 'node:crypto';
import { basename } from 'node:path';
import { CaissonError } from '@caisson/contract';

/** What content is named by: `sha256:` and its digits. Only this algorithm is in use, and only it is taken. */
export const digestPattern = /^sha256:[0-9a-f]{64}$/;

export function digestOf(content: Uint8Array | string): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

export function digestEnd(hash: Hash): string {
  return `sha256:${hash.digest('hex')}`;
}

/** The name of a file or folder for a digest: a colon separates an overlay's options and cannot be in a path. */
export function digestFileName(digest: string): string {
  if (!digestPattern.test(digest)) throw new CaissonError('image_invalid', `${cut(digest)} is not a digest`);
  return digest.replace(':', '-');
}

/** The digest that the folder of a layer is named by. */
export function layerOfFolder(folder: string): string {
  return basename(folder).replace('-', ':');
}

export function short(digest: string): string {
  return digest.slice(0, 'sha256:'.length + 12);
}

function cut(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** Passes content through, and throws at its end, or as soon as it is too long, when it is not what was promised. */
export async function* verified(
  content: AsyncIterable<Uint8Array>,
  promised: { readonly digest: string; readonly size?: number },
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (promised.size !== undefined && bytes > promised.size) throw wrongSize(promised.digest, promised.size, 'more');
    hash.update(chunk);
    yield chunk;
  }
  if (promised.size !== undefined && bytes < promised.size) throw wrongSize(promised.digest, promised.size, 'less');
  const found = digestEnd(hash);
  if (found !== promised.digest)
    throw new CaissonError('image_invalid', `the content of ${short(promised.digest)} has the digest ${short(found)}`, {
      context: { promised: promised.digest, found },
    });
}

function wrongSize(digest: string, size: number, than: 'more' | 'less'): CaissonError {
  return new CaissonError('image_invalid', `${short(digest)} has ${than} than the ${size} bytes that it should have`);
}

/** All of some content that must be small. */
export async function readBounded(content: AsyncIterable<Uint8Array>, most: number, what: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > most) throw new CaissonError('image_too_large', `${what} has more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
