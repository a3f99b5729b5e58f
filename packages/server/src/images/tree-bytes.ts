import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** What the files of a tree hold together; links count once each time they are met. It never follows one. */
export async function treeBytes(folder: string): Promise<number> {
  let bytes = 0;
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const directory = await opendir(next).catch(() => undefined);
    if (directory === undefined) continue;
    for await (const entry of directory) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else if (entry.isFile())
        bytes += await lstat(path).then(
          ({ size }) => size,
          () => 0,
        );
    }
  }
  return bytes;
}
