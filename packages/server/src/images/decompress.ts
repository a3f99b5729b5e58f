import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { CaissonError } from '@caisson/contract';
import { Decompress } from 'fzstd';
import { zstdPieces } from './zstd-pieces.ts';

/** The form is told by the first bytes: what a manifest calls a layer is not always what it is. */
const gzipMagic = Buffer.from([0x1f, 0x8b]);
const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/**
 * For each block the decoder moves its whole window, however little the block stands for. Encoders make blocks of 128 KiB,
 * or of some KiB where that is smaller; an archive of many that stand for next to nothing only costs time.
 */
const freeMovedBytes = 4 * 1024 ** 3;
const movedForEachByte = 8192;
/** So much is moved in a few milliseconds; then others have their turn. */
const movedAtOnceBytes = 64 * 1024 ** 2;

/** gzip, zstd or plain, as plain. */
export async function* decompressed(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = content[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < zstdMagic.length) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const whole = continued(head, iterator);
  if (head.subarray(0, 2).equals(gzipMagic)) yield* gunzipped(whole);
  else if (head.subarray(0, 4).equals(zstdMagic)) yield* unzstd(whole);
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

async function* unzstd(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let ready: Uint8Array[] = [];
  const decoder = new Decompress((chunk) => {
    // The decoder goes on writing into the memory that it gave.
    ready.push(chunk.slice());
  });
  const push = (piece: Uint8Array, last: boolean) => {
    ready = [];
    try {
      decoder.push(piece, last);
    } catch (error) {
      throw broken(error);
    }
    return ready;
  };
  let [moved, turns, given] = [0, 0, 0];
  for await (const { bytes, window = 0 } of zstdPieces(content)) {
    for (const chunk of push(bytes, false)) {
      given += chunk.length;
      yield chunk;
    }
    moved += window;
    if (moved > freeMovedBytes + movedForEachByte * given)
      throw new CaissonError(
        'image_too_large',
        'a layer takes too much work to decompress: its blocks hold too little',
      );
    if (moved < (turns + 1) * movedAtOnceBytes) continue;
    turns = Math.floor(moved / movedAtOnceBytes);
    await setImmediate();
  }
  yield* push(new Uint8Array(0), true);
}

function broken(error: unknown): CaissonError {
  return new CaissonError('image_invalid', `a layer cannot be decompressed: ${(error as Error).message}`, {
    cause: error,
  });
}
