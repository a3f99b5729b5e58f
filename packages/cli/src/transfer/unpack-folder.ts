import { CaissonError } from '@caisson/contract';
import { extract, type Header } from 'tar-stream';
import { drained } from './byte-streams.ts';
import { localFailure } from './local-failure.ts';
import { LocalTree } from './local-tree.ts';

export interface UnpackEvents {
  readonly skipped: (path: string, what: string) => void;
}

/** More would not be a path on any system of ours. */
const maxNameChars = 4096;

/**
 * Unpacks an archive that a sandbox made below a folder of ours. The archive is hostile: a name that leads out of the
 * folder, absolute, by `..` or through a link, ends the copy before anything is written there; devices, pipes and sockets
 * are refused one by one and told.
 */
export async function unpackFolder(
  archive: AsyncIterable<Uint8Array>,
  folder: string,
  events: UnpackEvents,
): Promise<{ entries: number }> {
  const tree = new LocalTree(folder);
  const reader = extract();
  const feeding = feed(archive, reader);
  // It is waited for at the end; the reader hears of its failure first.
  feeding.catch(() => {});
  let entries = 0;
  try {
    for await (const entry of reader) {
      const { header } = entry;
      const parts = partsOf(header.name);
      if (await put(tree, parts, header, entry as AsyncIterable<Uint8Array>)) entries += 1;
      else events.skipped(header.name, `is a ${header.type ?? 'thing'} and not copied`);
      entry.resume();
    }
    await tree.finish();
    await feeding;
  } catch (error) {
    reader.destroy();
    // What the sandbox failed with says more than an archive that breaks off.
    await feeding;
    throw localFailure(error, 'write', folder);
  }
  return { entries };
}

async function put(
  tree: LocalTree,
  parts: readonly string[],
  { type, mode = 0o644, mtime, linkname }: Partial<Header>,
  content: AsyncIterable<Uint8Array>,
): Promise<boolean> {
  const times = mtime ?? new Date();
  if (type === 'directory') await tree.folder(parts, mode, times);
  else if (type === 'symlink') await tree.link(parts, linkname ?? '');
  else if (type === 'file' || type === 'contiguous-file') await tree.file(parts, mode, times, content);
  else if (type === 'link') await tree.hardLink(parts, partsOf(linkname ?? ''));
  else return false;
  return true;
}

/** The parts of a name that stays below its folder. */
export function partsOf(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  const hostile = name.startsWith('/') || parts.includes('..') || name.includes('\0') || name.length > maxNameChars;
  if (hostile) {
    throw new CaissonError(
      'file_invalid',
      `the sandbox sent a name that leads out of the folder: ${name.slice(0, 200)}`,
      {
        hint: 'Nothing was written there. Do not trust this sandbox.',
      },
    );
  }
  return parts;
}

async function feed(archive: AsyncIterable<Uint8Array>, reader: ReturnType<typeof extract>): Promise<void> {
  let isOver = false;
  reader.on('close', () => {
    isOver = true;
  });
  try {
    for await (const piece of archive) {
      if (isOver) return;
      if (reader.write(Buffer.from(piece))) continue;
      await drained(reader);
    }
    if (!isOver) reader.end(undefined);
  } catch (error) {
    reader.destroy(error as Error);
    throw error;
  }
}
