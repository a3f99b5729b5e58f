/**
 * Messages of protocol buffers, by hand: the dozen that are spoken here have a few fields each, and the libraries for it
 * generate code or bring a compiler of schemas. A message is written as pairs of field number and value, and read as a
 * table of what came under each number.
 */
export type FieldValue = string | Uint8Array | number | bigint | boolean | undefined;

const varint = 0;
const fixed64 = 1;
const delimited = 2;
const fixed32 = 5;
/** Of 64 bits, seven to a byte. */
const varintBytesMax = 10;

/** What has its default value, or none, is left out, as the format wants it. */
export function writeMessage(...fields: readonly (readonly [number, FieldValue])[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const [number, value] of fields) {
    if (value === undefined || value === 0 || value === false || value === 0n || value === '') continue;
    if (typeof value === 'string' || value instanceof Uint8Array) {
      const bytes = typeof value === 'string' ? Buffer.from(value) : value;
      parts.push(writeVarint((number << 3) | delimited), writeVarint(bytes.length), bytes);
    } else {
      parts.push(writeVarint((number << 3) | varint), writeVarint(value === true ? 1 : value));
    }
  }
  return Buffer.concat(parts);
}

/** A map is a list of messages, each with a key and a value. */
export function mapFields(number: number, map: Readonly<Record<string, string>>): [number, Uint8Array][] {
  return Object.entries(map).map(([key, value]) => [number, writeMessage([1, key], [2, value])]);
}

function writeVarint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

/** A message that somebody else wrote. Of a field that came several times the last one counts, unless all are asked for. */
export class Message {
  readonly #fields: ReadonlyMap<number, readonly (bigint | Buffer)[]>;

  /** Throws RangeError where the bytes are no message. Parts are views of `bytes`. */
  constructor(bytes: Buffer) {
    this.#fields = readFields(bytes);
  }

  has(number: number): boolean {
    return this.#fields.has(number);
  }

  uint(number: number): number {
    const value = this.#fields.get(number)?.at(-1);
    return typeof value === 'bigint' ? Number(value) : 0;
  }

  bytes(number: number): Buffer {
    const value = this.#fields.get(number)?.at(-1);
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
  }

  string(number: number): string {
    return this.bytes(number).toString();
  }

  strings(number: number): string[] {
    return this.#parts(number).map(String);
  }

  message(number: number): Message | undefined {
    const value = this.#parts(number).at(-1);
    return value && new Message(value);
  }

  messages(number: number): Message[] {
    return this.#parts(number).map((part) => new Message(part));
  }

  map(number: number): Map<string, string> {
    return new Map(this.messages(number).map((entry) => [entry.string(1), entry.string(2)]));
  }

  #parts(number: number): Buffer[] {
    return (this.#fields.get(number) ?? []).filter((value) => Buffer.isBuffer(value));
  }
}

function readFields(bytes: Buffer): Map<number, (bigint | Buffer)[]> {
  const fields = new Map<number, (bigint | Buffer)[]>();
  let at = 0;
  const take = (size: number) => {
    if (size > bytes.length - at) throw new RangeError('a message is cut short');
    at += size;
    return bytes.subarray(at - size, at);
  };
  const takeVarint = () => {
    let value = 0n;
    for (let n = 0; n < varintBytesMax; n++) {
      const byte = take(1)[0] ?? 0;
      value |= BigInt(byte & 127) << BigInt(7 * n);
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new RangeError('a number of a message has no end');
  };
  const takeValue = (wire: number): bigint | Buffer => {
    if (wire === varint) return takeVarint();
    if (wire === fixed64) return take(8).readBigUInt64LE();
    if (wire === fixed32) return BigInt(take(4).readUInt32LE());
    if (wire !== delimited) throw new RangeError(`a message has a field of the unknown form ${wire}`);
    const size = takeVarint();
    if (size > BigInt(bytes.length)) throw new RangeError('a message is cut short');
    return take(Number(size));
  };
  while (at < bytes.length) {
    const key = takeVarint();
    const number = Number(key >> 3n);
    const value = takeValue(Number(key & 7n));
    const known = fields.get(number);
    if (known) known.push(value);
    else fields.set(number, [value]);
  }
  return fields;
}
