import { CaissonError } from '@caisson/contract';

/**
 * The framing of git's protocol: four hexadecimal digits say how long a line is with themselves; `0000` ends a message,
 * `0001` parts its sections, `0002` ends an answer.
 *
 * Law: what arrives is a stranger's. No line is longer than the format allows, and whoever reads says how much in all.
 */
export type Packet =
  | { readonly kind: 'line'; readonly bytes: Buffer }
  | { readonly kind: 'flush' | 'delimiter' | 'end' };

/** The most that four digits are used for. */
const longestLine = 65_520;

const special: Readonly<Record<string, Packet>> = {
  '0000': { kind: 'flush' },
  '0001': { kind: 'delimiter' },
  '0002': { kind: 'end' },
};

export const flushPacket = '0000';
export const delimiterPacket = '0001';

export function packet(text: string): string {
  return `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')}${text}`;
}

/** Reads packets from bytes as they arrive. */
export class PacketReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Undefined where the stream ends between two packets. */
  async next(): Promise<Packet | undefined> {
    const head = await this.#take(4);
    if (head === undefined) return undefined;
    const digits = head.toString('latin1');
    const known = special[digits];
    if (known) return known;
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 0;
    if (length < 4 || length > longestLine) throw broken('it does not speak the protocol of git');
    const bytes = length === 4 ? Buffer.alloc(0) : await this.#take(length - 4);
    if (bytes === undefined) throw broken('it ended in the middle of its answer');
    return { kind: 'line', bytes };
  }

  /** Lets go of what is not read. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }

  /** Exactly so many bytes; undefined where there are none at all. */
  async #take(count: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [this.#held];
    let have = this.#held.length;
    while (have < count) {
      const next = await this.#source.next();
      if (next.done) {
        if (have === 0) return undefined;
        throw broken('it ended in the middle of its answer');
      }
      const part = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
      parts.push(part);
      have += part.length;
    }
    const all = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    this.#held = all.subarray(count);
    return all.subarray(0, count);
  }
}

/** A line as text, without the line break that many end with. */
export function textOf({ bytes }: { readonly bytes: Buffer }): string {
  const text = bytes.toString('utf8');
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

export function broken(message: string): CaissonError {
  return new CaissonError('source_failed', message);
}
