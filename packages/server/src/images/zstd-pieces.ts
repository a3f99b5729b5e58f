import { CaissonError } from '@caisson/contract';

/** zstd's own programs refuse a larger window unless told otherwise. */
const maxWindowBytes = 128 * 1024 ** 2;
/** What a block may stand for, by the format. */
const maxBlockBytes = 128 * 1024;
const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;

/** Bytes for the decoder: a header, or one whole block of a frame with that window. */
export interface ZstdPiece {
  readonly bytes: Buffer;
  /** Of a block: the window that the decoder holds for it. */
  readonly window?: number;
}

/**
 * A zstd archive in its parts, read without decoding it. Whoever decodes it learns here, before a byte is given to the
 * decoder, how much memory each frame wants, and gets no more than one block at a time.
 */
export async function* zstdPieces(content: AsyncIterable<Uint8Array>): AsyncGenerator<ZstdPiece> {
  const reader = new Reader(content);
  try {
    for (;;) {
      const magic = await reader.take(4, true);
      if (magic === undefined) return;
      const number = magic.readUInt32LE(0);
      if ((number & 0xfffffff0) >>> 0 === skippableMagic) await reader.skip((await reader.need(4)).readUInt32LE(0));
      else if (number === frameMagic) yield* frame(reader, magic);
      else throw invalid('it has something between its frames');
    }
  } finally {
    await reader.close();
  }
}

async function* frame(reader: Reader, magic: Buffer): AsyncGenerator<ZstdPiece> {
  const descriptor = (await reader.need(1)).readUInt8(0);
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const rest = await reader.need((isSingle ? 0 : 1) + dictionaryBytes + sizeBytes);
  const size = numberIn(rest.subarray(rest.length - sizeBytes)) + (sizeBytes === 2 ? 256 : 0);
  const window = isSingle ? size : windowOf(rest.readUInt8(0));
  if (window > maxWindowBytes)
    throw new CaissonError('image_too_large', `a layer needs ${Math.round(window)} bytes of memory to decompress`, {
      hint: 'Compress it with a smaller window: without `--long`.',
    });
  yield { bytes: Buffer.concat([magic, Buffer.of(descriptor), rest]) };
  for (let isLast = false; !isLast; ) {
    const header = await reader.need(3);
    const said = header.readUIntLE(0, 3);
    const [kind, bytes] = [(said >> 1) & 3, said >> 3];
    isLast = (said & 1) !== 0;
    if (kind === 3 || bytes > maxBlockBytes) throw invalid('it has a block of no known kind or size');
    yield { bytes: Buffer.concat([header, await reader.need(kind === 1 ? 1 : bytes)]), window };
  }
  if ((descriptor & 4) !== 0) yield { bytes: await reader.need(4) };
}

/** An exponent in the upper five bits, and eighths of it in the lower three. */
function windowOf(byte: number): number {
  return 2 ** (10 + (byte >> 3)) * (1 + (byte & 7) / 8);
}

function numberIn(bytes: Buffer): number {
  if (bytes.length === 8) return Number(bytes.readBigUInt64LE(0));
  return bytes.length === 0 ? 0 : bytes.readUIntLE(0, bytes.length);
}

function invalid(why: string): CaissonError {
  return new CaissonError('image_invalid', `a layer cannot be decompressed: ${why}`);
}

/** Takes so many bytes at a time of content that comes in pieces of any size. */
class Reader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(content: AsyncIterable<Uint8Array>) {
    this.#source = content[Symbol.asyncIterator]();
  }

  async need(bytes: number): Promise<Buffer> {
    return (await this.take(bytes, false)) ?? Buffer.alloc(0);
  }

  /** Undefined where nothing is left and it may end here. */
  async take(bytes: number, mayEnd: boolean): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    for (let missing = bytes; missing > 0; ) {
      if (this.#rest.length === 0 && !(await this.#fill())) {
        if (mayEnd && missing === bytes) return undefined;
        throw invalid('it ends in the middle');
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      parts.push(part);
      missing -= part.length;
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
  }

  async skip(bytes: number): Promise<void> {
    for (let left = bytes; left > 0; ) {
      if (this.#rest.length === 0 && !(await this.#fill())) throw invalid('it ends in the middle');
      const skipped = Math.min(left, this.#rest.length);
      this.#rest = this.#rest.subarray(skipped);
      left -= skipped;
    }
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #fill(): Promise<boolean> {
    const next = await this.#source.next();
    if (next.done) return false;
    const { buffer, byteOffset, length } = next.value;
    this.#rest = Buffer.from(buffer, byteOffset, length);
    return true;
  }
}
