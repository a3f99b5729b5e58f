const block = 512;
/** What eleven octal digits cannot say. */
const largeBytes = 8 * 1024 ** 3;

/** The header of a plain file in a tar. It has no time and no owner, so that the same content gives the same bytes. */
export function memberHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(block);
  if (Buffer.byteLength(name) > 100) throw new RangeError(`a name of ours has at most 100 bytes: ${name}`);
  header.write(name, 0);
  header.write('0000644\0'.concat('0000000\0', '0000000\0'), 100);
  header.write(`${size.toString(8).padStart(11, '0').slice(-11)}\0${'0'.repeat(11)}\0`, 124);
  if (size >= largeBytes) {
    // As GNU tar writes it, and every other reads it: the number itself, behind a bit that says so.
    header.fill(0, 124, 136);
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(size), 128);
  }
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

export function paddingOf(size: number): Buffer {
  return Buffer.alloc((block - (size % block)) % block);
}

/** How long a member is with its header. */
export function memberSize(size: number): number {
  return block + Math.ceil(size / block) * block;
}

export const archiveEnd = Buffer.alloc(2 * block);
