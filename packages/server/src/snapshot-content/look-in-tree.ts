import { constants } from 'node:fs';
import { type FileHandle, open, readFile, readlink } from 'node:fs/promises';
import { CaissonError, type TreeNode } from '@caisson/contract';
import { encodeName } from '@caisson/guest';

/** What stands at a path of a tree; of a file and a link also its bytes, unless they are more than wanted. */
export interface Found {
  readonly node: TreeNode | null;
  readonly bytes: Buffer | null;
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
/** Opens a node itself, whatever it is, and nothing through it. Node does not name this flag of Linux. */
const O_PATH = 0o10000000;
const absent: Found = { node: null, bytes: null };

/**
 * Looks at one path of a tree that somebody hostile made, and may be at work in. Each part is opened in the folder before
 * it by `/proc/self/fd`, which stands for the opened folder itself, and no link is followed: neither a link nor a folder
 * that has just become one leads out. A mount within the tree is the host's, and counts as nothing.
 */
export async function lookInTree(root: string, path: string, mostBytes: number): Promise<Found> {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const name = parts.pop();
  if (name === undefined || [...parts, name].includes('..')) {
    throw new CaissonError('file_invalid', `${path} is not the path of a file`);
  }
  let folder = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const mount = await mountOf(folder);
  try {
    for (const part of parts) {
      const inner = await openIn(folder, part, O_RDONLY | O_DIRECTORY);
      if (inner === undefined) return absent;
      await folder.close();
      folder = inner;
      if ((await mountOf(folder)) !== mount) return absent;
    }
    return await lookAt(folder, name, mount, mostBytes);
  } finally {
    await folder.close();
  }
}

async function lookAt(folder: FileHandle, name: string, mount: string, mostBytes: number): Promise<Found> {
  const handle = await openIn(folder, name, O_PATH);
  if (handle === undefined) return absent;
  try {
    if ((await mountOf(handle)) !== mount) return absent;
    const stat = await handle.stat();
    const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'other';
    const { size, mode, uid, gid } = stat;
    const node: TreeNode = { kind, size, mode: mode & 0o7777, uid, gid };
    if (kind === 'link') return { node, bytes: await readlink(pathIn(folder, name), { encoding: 'buffer' }) };
    if (kind !== 'file' || size > mostBytes) return { node, bytes: null };
    return { node, bytes: await readOpened(handle, mostBytes) };
  } finally {
    await handle.close();
  }
}

/** Through the descriptor: it is the very file that was looked at, whatever has its name by now. */
async function readOpened(found: FileHandle, mostBytes: number): Promise<Buffer | null> {
  const handle = await open(`/proc/self/fd/${found.fd}`, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    // One byte more tells that it grew meanwhile.
    const buffer = Buffer.alloc(mostBytes + 1);
    let used = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, used, buffer.length - used, used);
      used += bytesRead;
      if (bytesRead === 0 || used === buffer.length) break;
    }
    return used > mostBytes ? null : buffer.subarray(0, used);
  } finally {
    await handle.close();
  }
}

function pathIn(folder: FileHandle, name: string): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), encodeName(name)]);
}

async function openIn(folder: FileHandle, name: string, flags: number): Promise<FileHandle | undefined> {
  try {
    return await open(pathIn(folder, name), flags | O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENAMETOOLONG') return undefined;
    throw error;
  }
}

/** The kernel's number of the mount that an opened node lies on. */
async function mountOf(handle: FileHandle): Promise<string> {
  const info = await readFile(`/proc/self/fdinfo/${handle.fd}`, 'utf8');
  return /^mnt_id:\s*(\d+)$/m.exec(info)?.[1] ?? '';
}
