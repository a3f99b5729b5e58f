import { randomBytes } from 'node:crypto';
import { chmod, type FileHandle, link, lstat, mkdir, open, rename, symlink, unlink, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CaissonError } from '@caisson/contract';

/** Who may read, write and run. Never setuid: a file of a sandbox must not run as whoever copied it. */
const permissions = 0o777;

interface Waiting {
  readonly path: string;
  readonly mode: number;
  readonly times: Date;
}

/**
 * Writes below one folder and nowhere else.
 *
 * Laws
 * - Every folder on the way is looked at before anything is put into it: a link is never walked through.
 * - A folder is never replaced by something else, so a way that was looked at stays as it was seen.
 * - A file appears whole, by a rename, which replaces a link and does not follow it.
 */
export class LocalTree {
  readonly #root: string;
  /** The way that was looked at last; the members of an archive come in the order of the tree. */
  #seen: readonly string[] = [];
  /** Folders that we are in and whose mode might keep us out: it is set when we leave them. */
  readonly #waiting: Waiting[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  async folder(parts: readonly string[], mode: number, times: Date): Promise<void> {
    await this.#enter(parts);
    await this.#walk(parts);
    if (parts.length === 0) return;
    // Told twice, it is still one folder.
    if (this.#waiting.at(-1)?.path === join(this.#root, ...parts)) this.#waiting.pop();
    this.#waiting.push({ path: join(this.#root, ...parts), mode: mode & permissions, times });
  }

  async file(parts: readonly string[], mode: number, times: Date, content: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#place(parts, async (draft) => {
      const file = await open(draft, 'wx', 0o600);
      try {
        await writeAll(file, content);
        await file.chmod(mode & permissions);
        await file.utimes(times, times);
      } finally {
        await file.close();
      }
    });
  }

  /** The link as it is, wherever it leads: nothing is ever written through it. */
  async link(parts: readonly string[], target: string): Promise<void> {
    await this.#place(parts, (draft) => symlink(target, draft));
  }

  async hardLink(parts: readonly string[], of: readonly string[]): Promise<void> {
    if (of.length === 0) throw refusal(of);
    await this.#walk(of.slice(0, -1));
    const original = join(this.#root, ...of);
    if (!(await lstat(original)).isFile()) throw refusal(of);
    await this.#place(parts, (draft) => link(original, draft));
  }

  async finish(): Promise<void> {
    await this.#enter([]);
    for (const waiting of this.#waiting.splice(0)) await settle(waiting);
  }

  /** Makes something under a name that nobody has, and then moves it to its own. */
  async #place(parts: readonly string[], make: (draft: string) => Promise<void>): Promise<void> {
    const name = parts.at(-1);
    if (name === undefined) throw refusal(parts);
    await this.#enter(parts);
    await this.#walk(parts.slice(0, -1));
    const path = join(this.#root, ...parts);
    const draft = join(dirname(path), `.caisson-${randomBytes(6).toString('hex')}`);
    try {
      await make(draft);
      await rename(draft, path);
    } catch (error) {
      await unlink(draft).catch(() => {});
      throw error;
    }
  }

  /** Leaves the folders that these parts are not in. */
  async #enter(parts: readonly string[]): Promise<void> {
    const path = join(this.#root, ...parts);
    for (;;) {
      const last = this.#waiting.at(-1);
      if (last === undefined || path === last.path || path.startsWith(`${last.path}/`)) return;
      this.#waiting.pop();
      await settle(last);
    }
  }

  async #walk(parts: readonly string[]): Promise<void> {
    let known = 0;
    while (known < parts.length && parts[known] === this.#seen[known]) known += 1;
    for (let depth = known + 1; depth <= parts.length; depth += 1) {
      const path = join(this.#root, ...parts.slice(0, depth));
      try {
        await mkdir(path, 0o700);
        await chmod(path, 0o755);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        if (!(await lstat(path)).isDirectory()) throw refusal(parts);
      }
    }
    this.#seen = [...parts];
  }
}

function refusal(parts: readonly string[]): CaissonError {
  const name = parts.join('/') || '.';
  return new CaissonError('file_invalid', `${name} would be written through something that is no folder`, {
    hint: 'Copy into an empty folder; links on the way are not followed.',
  });
}

async function settle({ path, mode, times }: Waiting): Promise<void> {
  await chmod(path, mode);
  await utimes(path, times, times);
}

async function writeAll(file: FileHandle, content: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of content) {
    for (let at = 0; at < piece.byteLength; ) at += (await file.write(piece, at)).bytesWritten;
  }
}
