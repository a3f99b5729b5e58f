import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { DatabaseSync } from '@photostructure/sqlite';
import { factsFile, makeDataFolder, readFacts, type ServerFacts, socketFile } from './data-place.ts';

/**
 * The folder in which a server keeps what it knows. One server at a time: it holds a lock that the kernel gives back when
 * the process ends, however it ends. Node has no file locks of its own; SQLite's are the same locks.
 */
export class DataFolder {
  readonly path: string;
  readonly #release: () => void;

  private constructor(path: string, release: () => void) {
    this.path = path;
    this.#release = release;
  }

  static open(path: string): DataFolder {
    makeDataFolder(path);
    socketFile(path);
    const lock = new DatabaseSync(join(path, 'server.lock'));
    try {
      lock.exec('pragma busy_timeout = 0; pragma locking_mode = exclusive; begin exclusive');
    } catch (error) {
      lock.close();
      if (!(error instanceof Error) || !/locked|busy/i.test(error.message)) {
        throw new CaissonError('data_folder_unusable', `cannot lock ${path}: ${(error as Error).message}`, {
          cause: error,
        });
      }
      const holder = readFacts(path);
      const who = holder ? `the server with pid ${holder.pid}` : 'another server';
      throw new CaissonError('data_folder_locked', `${who} uses ${path}`, { context: { pid: holder?.pid ?? null } });
    }
    return new DataFolder(path, () => lock.close());
  }

  get socket(): string {
    return socketFile(this.path);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** Written whole or not at all: a reader never sees half of it. */
  announce(facts: ServerFacts): void {
    const temporary = this.file('server.json.new');
    writeFileSync(temporary, `${JSON.stringify(facts)}\n`, { mode: 0o600 });
    renameSync(temporary, factsFile(this.path));
  }

  close(): void {
    rmSync(factsFile(this.path), { force: true });
    this.#release();
  }
}
