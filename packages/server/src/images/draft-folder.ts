import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CaissonError, newId } from '@caisson/contract';

/**
 * Where layers and records come to be.
 *
 * Law: a thing is made in `making/` and moved to its place when it is whole. A move is one step for the filesystem, so
 * what stands in its place is whole, whenever the process was killed; what is left in `making/` is nobody's.
 */
export class DraftFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Layers keep set-id programs: nobody but root may even look into the folder. */
  async open(): Promise<void> {
    for (const name of ['layers', 'images', 'bases', 'packed', 'blobs', 'facts', 'given', 'making'])
      await mkdir(join(this.path, name), { recursive: true, mode: 0o700 });
  }

  /** Gives an empty folder to work in, and deletes it with whatever is still in it. A full disk is told as that. */
  async use<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const draft = join(this.path, 'making', newId('request'));
    try {
      await mkdir(draft, { mode: 0o700 });
      return await work(draft);
    } catch (error) {
      throw asFull(error);
    } finally {
      await rm(draft, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  /** Two that made the same thing at once: the first one's stays, and is the same. */
  async place(from: string, to: string): Promise<void> {
    try {
      await rename(from, to);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if ((code !== 'ENOTEMPTY' && code !== 'EEXIST') || !existsSync(to)) throw error;
    }
  }

  async writeJson(file: string, value: unknown): Promise<void> {
    await this.use(async (draft) => {
      const fresh = join(draft, 'record');
      await writeFile(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flush: true });
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await rename(fresh, file);
    });
  }

  /** A record that is not there, or not readable as JSON, is none. */
  async readJson(file: string): Promise<unknown> {
    try {
      return JSON.parse(await readFile(file, 'utf8'));
    } catch {
      return undefined;
    }
  }

  async sweep(): Promise<string[]> {
    const swept: string[] = [];
    for (const name of await readdir(join(this.path, 'making'))) {
      await rm(join(this.path, 'making', name), { recursive: true, force: true, maxRetries: 3 });
      swept.push(`making/${name}`);
    }
    return swept;
  }
}

function asFull(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new CaissonError('storage_full', 'there is no room left where images are kept', { cause: error });
}
