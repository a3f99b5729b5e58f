import type { Stats } from 'node:fs';
import { lstat, open, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { type Header, type Pack, pack } from 'tar-stream';
import { drained } from './byte-streams.ts';
import { localFailure } from './local-failure.ts';

type HeadArgument = Partial<Header> & Pick<Header, 'name'>;

/** Folders within folders; a deeper tree is one that a loop of mounts made. */
const maxDepth = 256;
const readBytes = 256 * 1024;

export interface PackEvents {
  /** Something that has no content: a device, a socket. It stays behind. */
  readonly skipped: (path: string, what: string) => void;
}

/**
 * A folder here as a tar archive, piece by piece, with modes and times. Links are packed as links and never followed.
 * The reader sets the pace.
 */
export function packFolder(folder: string, events: PackEvents): AsyncIterable<Uint8Array> {
  const archive = pack();
  const work = async () => {
    await packInside(archive, folder, '', events, 0);
    archive.finalize();
  };
  work().catch((error) => archive.destroy(localFailure(error, 'read', folder)));
  return archive as unknown as AsyncIterable<Uint8Array>;
}

async function packInside(
  archive: Pack,
  folder: string,
  prefix: string,
  events: PackEvents,
  depth: number,
): Promise<void> {
  if (depth > maxDepth) throw new CaissonError('request_invalid', `${folder} is too deep to copy`);
  for await (const { name } of await opendir(folder)) {
    const path = join(folder, name);
    const inside = prefix === '' ? name : `${prefix}/${name}`;
    const stats = await lstat(path);
    const head = header(inside, stats);
    if (stats.isDirectory()) {
      // A folder that its owner may not write to is closed after what is in it.
      await entry(archive, { ...head, type: 'directory', mode: openMode(stats) });
      await packInside(archive, path, inside, events, depth + 1);
      if (openMode(stats) !== head.mode) await entry(archive, { ...head, type: 'directory' });
    } else if (stats.isSymbolicLink()) {
      await entry(archive, { ...head, type: 'symlink', linkname: await readlink(path) });
    } else if (stats.isFile()) await packFile(archive, path, head);
    else events.skipped(path, 'is no file, folder or link');
  }
}

function header(name: string, stats: Stats): HeadArgument {
  return { name, mode: stats.mode & 0o7777, mtime: new Date(Math.floor(stats.mtimeMs)), uid: 0, gid: 0, size: 0 };
}

const openMode = (stats: Stats): number => (stats.mode & 0o7777) | 0o700;

function entry(archive: Pack, head: HeadArgument): Promise<void> {
  return new Promise((resolve, reject) => {
    archive.entry(head, (error) => (error ? reject(error) : resolve()));
  });
}

/** As many bytes as the file has when it is opened: a header comes before its content. */
async function packFile(archive: Pack, path: string, head: HeadArgument): Promise<void> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    await new Promise<void>((resolve, reject) => {
      const sink = archive.entry({ ...head, type: 'file', size }, (error) => (error ? reject(error) : resolve()));
      const pump = async () => {
        const buffer = Buffer.allocUnsafe(Math.min(readBytes, Math.max(1, size)));
        for (let at = 0; at < size; ) {
          const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, size - at), at);
          if (bytesRead === 0) throw new CaissonError('request_invalid', `${path} became shorter while it was read`);
          at += bytesRead;
          // A copy: the archive holds on to a piece until the reader has taken it.
          if (sink.write(Buffer.from(buffer.subarray(0, bytesRead)))) continue;
          await drained(sink);
          if (sink.destroyed) throw new CaissonError('interrupted', 'the copy was given up');
        }
        sink.end(undefined);
      };
      pump().catch(reject);
    });
  } finally {
    await file.close();
  }
}
