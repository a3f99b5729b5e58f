import { constants } from 'node:fs';
import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';

/** One entry of what a build is given. `path` has no leading slash. */
export interface ContextEntry {
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'symlink';
  readonly mode: number;
  readonly size: number;
  /** Of a symlink. */
  readonly target?: string;
  readonly read: () => AsyncIterable<Uint8Array>;
}

export function madeFile(path: string, content: Buffer, mode = 0o644): ContextEntry {
  return { path, kind: 'file', mode, size: content.length, read: () => once(content) };
}

/**
 * Everything below a folder. What is in it came from elsewhere: no link is followed, and what is neither a file, a folder
 * nor a link is refused.
 */
export async function folderEntries(folder: string, most: number, below = ''): Promise<ContextEntry[]> {
  const entries: ContextEntry[] = [];
  for (const name of await readdir(join(folder, below))) {
    const path = below === '' ? name : `${below}/${name}`;
    const entry = await readEntry(folder, path);
    entries.push(entry);
    if (entry.kind === 'folder') entries.push(...(await folderEntries(folder, most - entries.length, path)));
    if (entries.length > most)
      throw new CaissonError('image_too_large', 'the sources of the build have more files than an image may have');
  }
  return entries;
}

async function readEntry(folder: string, path: string): Promise<ContextEntry> {
  const at = join(folder, path);
  const stats = await lstat(at);
  const mode = stats.mode & 0o7777;
  if (stats.isDirectory()) return { path, kind: 'folder', mode, size: 0, read: nothing };
  if (stats.isFile()) return { path, kind: 'file', mode, size: stats.size, read: () => readFile(at) };
  if (!stats.isSymbolicLink())
    throw new CaissonError('file_invalid', `the sources of the build have \`${path}\`, which is no file and no folder`);
  return { path, kind: 'symlink', mode: 0o777, size: 0, target: await readlink(at), read: nothing };
}

/** With the folders that they lie in, each before what it holds, in the order in which BuildKit wants to hear of them. */
export function inOrder(entries: readonly ContextEntry[]): ContextEntry[] {
  const all = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const parent = parts.slice(0, depth).join('/');
      if (!all.has(parent)) all.set(parent, { path: parent, kind: 'folder', mode: 0o755, size: 0, read: nothing });
    }
  }
  // A slash comes before everything else: what a folder holds stands before its neighbours.
  const keyed = [...all.values()].map((entry) => ({ entry, key: Buffer.from(entry.path.replaceAll('/', '\0')) }));
  return keyed.sort((a, b) => Buffer.compare(a.key, b.key)).map(({ entry }) => entry);
}

async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    yield* handle.createReadStream({ autoClose: false });
  } finally {
    await handle.close();
  }
}

async function* once(content: Buffer): AsyncGenerator<Uint8Array> {
  yield content;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
