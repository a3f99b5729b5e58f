/** What a tree that we make ourselves consists of. Everything belongs to root. */
export type TreeEntry =
  | { readonly kind: 'directory'; readonly path: string; readonly mode?: number }
  | { readonly kind: 'file'; readonly path: string; readonly text: string; readonly mode?: number }
  | { readonly kind: 'symlink'; readonly path: string; readonly target: string };

const block = 512;
const types = { file: '0', symlink: '2', directory: '5' } as const;
const defaultModes = { file: 0o644, symlink: 0o777, directory: 0o755 } as const;

/** A plain tar of entries: the same bytes for the same entries, so that its digest names them. */
export function encodeTree(entries: readonly TreeEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = Buffer.from(entry.kind === 'file' ? entry.text : '');
    const padding = Buffer.alloc((block - (content.length % block)) % block);
    return [encodeHeader(entry, content.length), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * block)]);
}

function encodeHeader(entry: TreeEntry, size: number): Buffer {
  const header = Buffer.alloc(block);
  const name = entry.kind === 'directory' ? `${entry.path}/` : entry.path;
  const target = entry.kind === 'symlink' ? entry.target : '';
  if (Buffer.byteLength(name) > 100 || Buffer.byteLength(target) > 100)
    throw new RangeError(`a name of our own trees has at most 100 bytes: ${name}`);
  const mode = entry.kind === 'symlink' ? defaultModes.symlink : (entry.mode ?? defaultModes[entry.kind]);
  header.write(name, 0);
  header.write(`${octal(mode, 7)}\0`, 100);
  header.write(`${octal(0, 7)}\0${octal(0, 7)}\0`, 108);
  header.write(`${octal(size, 11)}\0${octal(0, 11)}\0`, 124);
  header.write(types[entry.kind], 156);
  header.write(target, 157);
  header.write('ustar\x0000', 257);
  header.fill(' ', 148, 156);
  header.write(
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\0 `,
    148,
  );
  return header;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}
