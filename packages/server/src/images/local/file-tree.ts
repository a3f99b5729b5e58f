import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';

/** Files by name, below a folder or within an archive. */
export interface FileTree {
  has(name: string): Promise<boolean>;
  read(name: string): AsyncIterable<Uint8Array>;
}

/** A name comes from a document that somebody else wrote. */
export function checkName(name: string): string {
  if (name.length > 1000 || name.startsWith('/') || name.includes('\0') || name.split('/').includes('..'))
    throw new CaissonError('image_invalid', 'the image names a file outside of itself');
  return name;
}

export class FolderTree implements FileTree {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async has(name: string): Promise<boolean> {
    try {
      const handle = await open(join(this.#folder, checkName(name)), 'r');
      await handle.close();
      return true;
    } catch {
      return false;
    }
  }

  async *read(name: string): AsyncGenerator<Uint8Array> {
    const path = join(this.#folder, checkName(name));
    try {
      yield* createReadStream(path, { highWaterMark: 1024 * 1024 });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
      throw new CaissonError('image_invalid', `the image has no readable ${name}`, { cause });
    }
  }
}
