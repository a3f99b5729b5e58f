import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { CaissonError, type Profile, profileRef } from '@caisson/contract';
import { readDocument } from '../documents/read-document.ts';
import { readProfile } from './read-profile.ts';

/** Profiles as files: those that somebody wrote there, YAML or JSON, and those that were added. */
export class ProfileFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** One that is not valid stops the start: a recipe half-read is worse than none. */
  read(): Profile[] {
    const files = existsSync(this.#path)
      ? readdirSync(this.#path)
          .filter((name) => /\.(ya?ml|json)$/.test(name))
          .sort()
      : [];
    return files.map((name) => {
      const value = readDocument(readFileSync(join(this.#path, name), 'utf8'), 'profile_invalid', name);
      return readProfile(value, `profile ${name}`);
    });
  }

  /** When it returns the profile is on the disk, whole; killed before, it is not there at all. */
  write(profile: Profile): void {
    const file = join(this.#path, `${profileRef(profile)}.json`);
    const draft = `${file}.new`;
    try {
      mkdirSync(this.#path, { recursive: true, mode: 0o700 });
      const handle = openSync(draft, 'w', 0o600);
      try {
        writeSync(handle, `${JSON.stringify(profile, null, 2)}\n`);
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
      renameSync(draft, file);
      syncFolder(this.#path);
    } catch (error) {
      rmSync(draft, { force: true });
      const message = `the profile cannot be written: ${(error as Error).message}`;
      throw new CaissonError('data_folder_unusable', message, { cause: error });
    }
  }
}

/** A name is on the disk when its folder is. */
function syncFolder(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
