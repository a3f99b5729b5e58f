const block = 512;
/** What eleven octal digits cannot say. */
const largeBytes = 8 * 1024 ** 3;

/** What one header holds of a name. */
const nameBytes = 100;
const types = { file: '0', symlink: '2', directory: '5', longLink: 'K', longName: 'L' } as const;

/** A member of any tar. It belongs to root. */
export interface TarMember {
  readonly name: string;
  readonly kind: 'file' | 'symlink' | 'directory';
  readonly mode: number;
  readonly size?: number;
  readonly link?: string;
  /** In seconds. */
  readonly changedAt?: number;
}

/** The header of a plain file in a tar. It has no time and no owner, so that the same content gives the same bytes. */
export function memberHeader(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) > nameBytes) throw new RangeError(`a name of ours has at most 100 bytes: ${name}`);
  return headerOf(Buffer.from(name), { type: types.file, mode: 0o644, size });
}

/** The header of a member, and before it what its names have too many letters for, as GNU tar writes it. */
export function tarMember({ name, kind, mode, size = 0, link = '', changedAt = 0 }: TarMember): Buffer {
  const [own, target] = [Buffer.from(kind === 'directory' ? `${name}/` : name), Buffer.from(link)];
  const header = headerOf(own, { type: types[kind], mode, size, link: target, changedAt });
  return Buffer.concat([...longText(types.longLink, target), ...longText(types.longName, own), header]);
}

function longText(type: string, text: Buffer): Buffer[] {
  if (text.length <= nameBytes) return [];
  const size = text.length + 1;
  const name = Buffer.from('././@LongLink');
  return [headerOf(name, { type, mode: 0o644, size }), text, Buffer.alloc(1), paddingOf(size)];
}

interface HeaderFields {
  readonly type: string;
  readonly mode: number;
  readonly size: number;
  readonly link?: Buffer;
  readonly changedAt?: number;
}

function headerOf(name: Buffer, { type, mode, size, link, changedAt = 0 }: HeaderFields): Buffer {
  const header = Buffer.alloc(block);
  name.copy(header, 0, 0, nameBytes);
  header.write(`${octal(mode, 7)}\0`.concat('0000000\0', '0000000\0'), 100);
  header.write(`${octal(size, 11)}\0${octal(changedAt, 11)}\0`, 124);
  if (size >= largeBytes) {
    // As GNU tar writes it, and every other reads it: the number itself, behind a bit that says so.
    header.fill(0, 124, 136);
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(size), 128);
  }
  header.write(type, 156);
  link?.copy(header, 157, 0, nameBytes);
  header.write('ustar\x0000', 257);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)}\0 `, 148);
  return header;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0').slice(-digits);
}

export function paddingOf(size: number): Buffer {
  return Buffer.alloc((block - (size % block)) % block);
}

/** How long a member is with its header. */
export function memberSize(size: number): number {
  return block + Math.ceil(size / block) * block;
}

export const archiveEnd = Buffer.alloc(2 * block);
