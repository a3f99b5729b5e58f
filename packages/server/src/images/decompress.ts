import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CaissonError } from '@caisson/contract';
import { Decompress } from 'fzstd';

/** The form is told by the first bytes: what a manifest calls a layer is not always what it is. */
const gzipMagic = Buffer.from([0x1f, 0x8b]);
const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** zstd's own programs refuse a larger window unless told otherwise. */
const maxWindowBytes = 128 * 1024 ** 2;

/**
 * A block of a few bytes can stand for 128 KiB, and the decoder gives all blocks of what it was handed at once. So it is
 * handed little, and no archive makes it give more than some megabytes between two looks at the reader.
 */
const zstdSliceBytes = 512;

/** gzip, zstd or plain, as plain. */
export async function* decompressed(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = content[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 18) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const whole = continued(head, iterator);
  if (head.subarray(0, 2).equals(gzipMagic)) yield* gunzipped(whole);
  else if (head.subarray(0, 4).equals(zstdMagic)) yield* unzstd(whole, head);
  else yield* whole;
}

async function* continued(head: Buffer, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* gunzipped(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(content, { objectMode: false });
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  let failure: Error | undefined;
  source.on('error', (error) => {
    failure = error;
    gunzip.destroy(error);
  });
  source.pipe(gunzip);
  try {
    yield* gunzip;
  } catch (error) {
    throw failure ?? broken(error);
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

async function* unzstd(content: AsyncIterable<Uint8Array>, head: Buffer): AsyncGenerator<Uint8Array> {
  checkWindow(head);
  let ready: Uint8Array[] = [];
  const decoder = new Decompress((chunk) => {
    // The decoder goes on writing into the memory that it gave.
    ready.push(chunk.slice());
  });
  const push = (slice: Uint8Array, last: boolean) => {
    ready = [];
    try {
      decoder.push(slice, last);
    } catch (error) {
      throw broken(error);
    }
    return ready;
  };
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; at += zstdSliceBytes)
      yield* push(chunk.subarray(at, at + zstdSliceBytes), false);
  }
  yield* push(new Uint8Array(0), true);
}

/** The header says how much memory the decoder needs: the exponent and mantissa in its window byte, or the frame's own size. */
function checkWindow(given: Buffer): void {
  // A frame may end before the longest header would; what it does not have counts as zero.
  const head = Buffer.concat([given.subarray(0, 18), Buffer.alloc(18)]);
  const descriptor = head[4] ?? 0;
  const single = (descriptor & 0x20) !== 0;
  const window = head[5] ?? 0;
  const bytes = single ? frameBytes(head, descriptor) : 2 ** (10 + (window >> 3)) * (1 + (window & 7) / 8);
  if (bytes > maxWindowBytes)
    throw new CaissonError('image_too_large', `a layer needs ${Math.round(bytes)} bytes of memory to decompress`, {
      hint: 'Compress it with a smaller window: without `--long`.',
    });
}

function frameBytes(head: Buffer, descriptor: number): number {
  const at = 5 + ([0, 1, 2, 4][descriptor & 3] ?? 0);
  const kind = descriptor >> 6;
  if (kind === 0) return head[at] ?? 0;
  if (kind === 1) return head.readUInt16LE(at) + 256;
  return kind === 2 ? head.readUInt32LE(at) : Number(head.readBigUInt64LE(at));
}

function broken(error: unknown): CaissonError {
  return new CaissonError('image_invalid', `a layer cannot be decompressed: ${(error as Error).message}`, {
    cause: error,
  });
}
