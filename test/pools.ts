import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Pools of btrfs that lie in files of temporary folders: where each is mounted, and whether its file is gone. */
function mountedPools(): { readonly file: string; readonly point: string; readonly isDeleted: boolean }[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  return readdirSync('/sys/block').flatMap((name) => {
    const backing = backingFile(name);
    const file = backing.replace(/ \(deleted\)$/, '');
    if (!file.startsWith(tmpdir()) || !file.endsWith('/pool.btrfs')) return [];
    const points = mounts.filter((line) => line.startsWith(`/dev/${name} `)).map((line) => line.split(' ')[1] ?? '');
    return points.map((point) => ({ file, point, isDeleted: file !== backing }));
  });
}

/** Undoes the mount of a data folder's pool, for a server that was killed. */
export function unmountPoolOf(dataFolder: string): void {
  const own = mountedPools().filter(({ file }) => file === join(dataFolder, 'pool.btrfs'));
  for (const { point } of own) execFileSync('umount', ['--lazy', point]);
}

/** Nobody can use a pool whose file is gone. */
export default function sweepAtTheEnd(): () => void {
  return () => {
    for (const { point, isDeleted } of mountedPools()) if (isDeleted) execFileSync('umount', ['--lazy', point]);
  };
}

function backingFile(name: string): string {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trim();
  } catch {
    return '';
  }
}
