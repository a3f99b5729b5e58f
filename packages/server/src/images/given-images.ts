import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestFileName } from './digest.ts';
import type { DraftFolder } from './draft-folder.ts';

/**
 * Which images a backend was given by this server: `given/<driver>.<digest>`. What others gave it is theirs, also under a
 * name like ours.
 */
export class GivenImages {
  readonly #drafts: DraftFolder;

  constructor(drafts: DraftFolder) {
    this.#drafts = drafts;
  }

  async note(driver: string, digest: string): Promise<void> {
    await writeFile(this.#file(driver, digest), '', { mode: 0o600 });
  }

  async list(driver: string): Promise<string[]> {
    const names = await readdir(join(this.#drafts.path, 'given'));
    return names.flatMap((name) => {
      const digest = name.startsWith(`${driver}.`) ? name.slice(driver.length + 1).replace('-', ':') : undefined;
      return digest === undefined ? [] : [digest];
    });
  }

  async forget(driver: string, digest: string): Promise<void> {
    await rm(this.#file(driver, digest), { force: true });
  }

  #file(driver: string, digest: string): string {
    return join(this.#drafts.path, 'given', `${driver}.${digestFileName(digest)}`);
  }
}
