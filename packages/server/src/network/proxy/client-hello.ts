/** What a TLS client says first, as far as it tells whom it wants to reach. */
export interface ClientHello {
  /** The name it shows, as sent; absent when it shows none. */
  readonly name: string | undefined;
  /** It carries an encrypted hello: the name that it shows need not be the one that it means. */
  readonly hidesName: boolean;
}

/** `more`: not all of it has come. `malformed`: it looks like TLS and cannot be read, at least not by us. */
export type ReadHello = ClientHello | 'more' | 'malformed';

/** All of a hello. Real ones have a few hundred bytes, with post-quantum keys about two thousand. */
export const helloMax = 64 * 1024;

const handshakeRecord = 22;
const clientHelloMessage = 1;
const recordMax = 16_384 + 256;
const serverName = 0;
const encryptedHello = 0xfe0d;

/** Reads the hello out of the first bytes of a connection, however it is split into records. Never throws. */
export function readClientHello(bytes: Buffer): ReadHello {
  const message = handshakeOf(bytes);
  if (typeof message === 'string') return message;
  const found = parse(new Reader(message));
  return found ?? 'malformed';
}

/** The first handshake message, put together from its records. Once through them: there may be one for each byte. */
function handshakeOf(bytes: Buffer): Buffer | 'more' | 'malformed' {
  const pieces: Buffer[] = [];
  let size = 0;
  let wanted: number | undefined;
  for (let at = 0; ; ) {
    if (bytes.length - at < 5) return isPrefix(bytes, at) ? 'more' : 'malformed';
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at] !== handshakeRecord || bytes[at + 1] !== 3 || length === 0 || length > recordMax) return 'malformed';
    const piece = bytes.subarray(at + 5, at + 5 + length);
    pieces.push(piece);
    size += piece.length;
    at += 5 + length;
    if (wanted === undefined && size >= 4) {
      const head = Buffer.concat(pieces);
      if (head[0] !== clientHelloMessage) return 'malformed';
      wanted = 4 + head.readUIntBE(1, 3);
      if (wanted > helloMax) return 'malformed';
    }
    if (wanted !== undefined && size >= wanted) return Buffer.concat(pieces).subarray(4, wanted);
    if (at > bytes.length) return 'more';
  }
}

function isPrefix(bytes: Buffer, at: number): boolean {
  const left = bytes.subarray(at);
  return (left.length < 1 || left[0] === handshakeRecord) && (left.length < 2 || left[1] === 3);
}

function parse(hello: Reader): ClientHello | undefined {
  hello.skip(2 + 32);
  hello.skip(hello.number(1));
  hello.skip(hello.number(2));
  hello.skip(hello.number(1));
  let name: string | undefined;
  let hidesName = false;
  const seen = new Set<number>();
  const extensions = hello.isAtEnd ? undefined : hello.part(hello.number(2));
  while (extensions && !extensions.isAtEnd && !extensions.failed) {
    const type = extensions.number(2);
    const body = extensions.part(extensions.number(2));
    if (seen.has(type)) return undefined;
    seen.add(type);
    if (type === encryptedHello) hidesName = true;
    if (type !== serverName) continue;
    name = readName(body);
    if (name === undefined) return undefined;
  }
  if (hello.failed || extensions?.failed || !hello.isAtEnd) return undefined;
  return { name, hidesName };
}

/** Exactly one name of the only kind that there is. */
function readName(body: Reader): string | undefined {
  const list = body.part(body.number(2));
  const kind = list.number(1);
  const name = list.text(list.number(2));
  if (body.failed || list.failed || !body.isAtEnd || !list.isAtEnd || kind !== 0 || name === '') return undefined;
  return name;
}

/** Reads on after a failure, and gives nothing: who uses it asks once, at the end. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  failed = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  number(size: 1 | 2): number {
    const at = this.#at;
    this.skip(size);
    return this.failed ? 0 : this.#bytes.readUIntBE(at, size);
  }

  skip(size: number): void {
    if (this.#at + size > this.#bytes.length) this.failed = true;
    else this.#at += size;
  }

  part(size: number): Reader {
    const at = this.#at;
    this.skip(size);
    const part = new Reader(this.failed ? Buffer.alloc(0) : this.#bytes.subarray(at, at + size));
    part.failed = this.failed;
    return part;
  }

  text(size: number): string {
    const at = this.#at;
    this.skip(size);
    return this.failed ? '' : this.#bytes.toString('latin1', at, at + size);
  }
}
