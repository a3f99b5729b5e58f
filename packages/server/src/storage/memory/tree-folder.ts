import { execFile } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';

export type Tree = ReadonlyMap<string, string>;

/** A folder for what cannot be shown in memory, while somebody uses it. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'caisson-memory-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function writeTree(folder: string, files: Tree): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [path, content] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** As an overlay keeps it: what is new or other, and a device 0/0 for what is gone. */
export async function writeChanges(folder: string, image: Tree, files: Tree): Promise<void> {
  await writeTree(folder, new Map([...files].filter(([path, content]) => image.get(path) !== content)));
  for (const path of [...image.keys()].filter((path) => !files.has(path))) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await promisify(execFile)('mknod', [join(folder, path), 'c', '0', '0']);
  }
}

/** The image with the changes of a folder. Folders that hide what is below them are not known here. */
export async function readChanges(folder: string, image: Tree): Promise<Map<string, string>> {
  const files = new Map(image);
  for (const entry of await readdir(folder, { recursive: true })) {
    const path = join(folder, entry);
    const found = await lstat(path);
    const name = relative(folder, path);
    if (found.isCharacterDevice() && found.rdev === 0) files.delete(name);
    else if (found.isFile()) files.set(name, await readFile(path, 'utf8'));
  }
  return files;
}
