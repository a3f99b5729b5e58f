import { readFile } from 'node:fs/promises';
import { CaissonError } from '@caisson/contract';
import { hostCommand } from './host-command.ts';

/** Every mount point at or below a folder, the deepest first, which is the order in which they can be undone. */
export async function mountsBelow(folder: string): Promise<string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  const points = table
    .split('\n')
    .flatMap(
      (line) =>
        line
          .split(' ')[4]
          ?.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))) ?? [],
    );
  return points
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
    .sort()
    .reverse();
}

export async function isMounted(point: string): Promise<boolean> {
  return (await mountsBelow(point)).includes(point);
}

/** Undoes everything mounted below a folder. A mount still in use is detached, and ends with its last user. */
export async function unmountBelow(folder: string): Promise<void> {
  for (const point of await mountsBelow(folder)) {
    await hostCommand('umount', [point]).catch(() => hostCommand('umount', ['--lazy', point]));
  }
}

/** The characters that separate an overlay's options cannot be escaped everywhere: a path with one is refused. */
export async function mountOverlay(
  layers: readonly string[],
  upper: string,
  work: string,
  point: string,
): Promise<void> {
  const paths = [...layers, upper, work];
  const odd = paths.find((path) => /[,:\\"\n]/.test(path));
  if (odd !== undefined) throw new CaissonError('storage_failed', `${odd} has a character that an overlay cannot take`);
  const lower = [...layers].reverse().join(':');
  await hostCommand('mount', [
    '-t',
    'overlay',
    '-o',
    `lowerdir=${lower},upperdir=${upper},workdir=${work}`,
    'caisson',
    point,
  ]);
}
