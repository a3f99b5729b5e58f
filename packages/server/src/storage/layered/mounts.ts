import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { CaissonError } from '@caisson/contract';
import type { HostClient } from '@caisson/guest';

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

/** A mounted filesystem is another device than the folder it is mounted in. Cheaper than the table of all mounts. */
export async function isMounted(point: string): Promise<boolean> {
  try {
    const [own, above] = await Promise.all([stat(point), stat(dirname(point))]);
    return own.dev !== above.dev;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Undoes a mount with all that is mounted in it. One still in use is detached, and ends with its last user; with `later`
 * every one does, and nobody waits for it.
 */
export async function unmount(host: HostClient, point: string, { later = false } = {}): Promise<void> {
  await host.unmount(point, { detach: true, later }).catch((error: CaissonError) => {
    const { errorName } = error.context;
    if (errorName !== 'EINVAL' && errorName !== 'ENOENT') throw error;
  });
}

/** The same for everything below a folder, for what nobody remembers. */
export async function unmountBelow(host: HostClient, folder: string): Promise<void> {
  for (const point of await mountsBelow(folder)) await unmount(host, point);
}
