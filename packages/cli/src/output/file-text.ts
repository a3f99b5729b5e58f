import type { FileEntry } from '@caisson/contract';
import { table } from './table.ts';

const kindLetters: Readonly<Record<FileEntry['kind'], string>> = {
  file: '-',
  directory: 'd',
  symlink: 'l',
  fifo: 'p',
  socket: 's',
  character_device: 'c',
  block_device: 'b',
};

/** `drwxr-xr-x`, as everybody knows it. */
export function modeText({ kind, mode }: Pick<FileEntry, 'kind' | 'mode'>): string {
  const letters = [...'rwxrwxrwx'].map((letter, index) => ((mode & (1 << (8 - index))) === 0 ? '-' : letter));
  const special = [
    [0o4000, 2, 's', 'S'],
    [0o2000, 5, 's', 'S'],
    [0o1000, 8, 't', 'T'],
  ] as const;
  for (const [bit, at, small, large] of special) {
    if ((mode & bit) !== 0) letters[at] = letters[at] === 'x' ? small : large;
  }
  return `${kindLetters[kind]}${letters.join('')}`;
}

export function fileTable(entries: readonly FileEntry[]): string {
  const widest = Math.max(...entries.map(({ size }) => String(size).length), 4);
  return table(
    ['MODE', 'OWNER', 'GROUP', 'SIZE'.padStart(widest), 'MODIFIED', 'NAME'],
    entries.map((entry) => [
      modeText(entry),
      entry.owner ?? String(entry.uid),
      entry.group ?? String(entry.gid),
      String(entry.size).padStart(widest),
      entry.modifiedAt.slice(0, 19).replace('T', ' '),
      entry.target === null ? entry.path : `${entry.path} → ${entry.target}`,
    ]),
  );
}
