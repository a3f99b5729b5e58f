/**
 * Text of which the beginning and the end are kept: the beginning says what was done, the end how it went. What is left
 * out between them is counted in bytes.
 */
export class BoundedText {
  readonly #headMax: number;
  readonly #tailMax: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #leftOut = 0;

  constructor(maxBytes: number) {
    this.#headMax = Math.ceil(maxBytes / 2);
    this.#tailMax = Math.floor(maxBytes / 2);
  }

  get isTruncated(): boolean {
    return this.#leftOut > 0;
  }

  push(bytes: Uint8Array): void {
    const room = Math.min(this.#headMax - this.#headBytes, bytes.byteLength);
    if (room > 0) {
      // A piece of a large chunk would keep all of that alive.
      this.#head.push(Buffer.from(bytes.subarray(0, room)));
      this.#headBytes += room;
    }
    if (room < bytes.byteLength) this.#pushTail(bytes.subarray(room));
  }

  toString(): string {
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (!this.isTruncated) return Buffer.concat([head, tail]).toString('utf8');
    const between = `\n… ${this.#leftOut} bytes left out …\n`;
    return `${head.subarray(0, wholeUntil(head)).toString('utf8')}${between}${tail.subarray(wholeFrom(tail)).toString('utf8')}`;
  }

  #pushTail(bytes: Uint8Array): void {
    const kept = bytes.byteLength > this.#tailMax ? bytes.subarray(bytes.byteLength - this.#tailMax) : bytes;
    this.#leftOut += bytes.byteLength - kept.byteLength;
    this.#tail.push(Buffer.from(kept));
    this.#tailBytes += kept.byteLength;
    while (this.#tailBytes > this.#tailMax) {
      const [first] = this.#tail;
      if (first === undefined) return;
      const over = Math.min(this.#tailBytes - this.#tailMax, first.length);
      if (over === first.length) this.#tail.shift();
      else this.#tail[0] = first.subarray(over);
      this.#tailBytes -= over;
      this.#leftOut += over;
    }
  }
}

const isInner = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** Up to here no character of UTF-8 is cut in two. */
function wholeUntil(bytes: Buffer): number {
  for (let at = bytes.length - 1; at >= Math.max(0, bytes.length - 4); at -= 1) {
    const byte = bytes[at] ?? 0;
    if (isInner(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return at + length > bytes.length ? at : bytes.length;
  }
  return bytes.length;
}

function wholeFrom(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && isInner(bytes[at])) at += 1;
  return at;
}
