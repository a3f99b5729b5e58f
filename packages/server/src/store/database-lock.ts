import { CaissonError } from '@caisson/contract';
import pg from 'pg';
import { advisoryLocks } from './advisory-locks.ts';
import { translateDatabaseError } from './database-errors.ts';

const retryMs = 500;

/**
 * One server for one database. The lock belongs to a connection of its own: Postgres gives it back when that ends, however
 * it ends. When the database goes away and comes back the lock is taken again; when another server was quicker, `lost` is
 * called, and this one must end.
 */
export class DatabaseLock {
  readonly #url: string;
  readonly #lost: () => void;
  #client: pg.Client | undefined;
  #closed = false;

  private constructor(url: string, lost: () => void) {
    this.#url = url;
    this.#lost = lost;
  }

  static async take(url: string, lost: () => void): Promise<DatabaseLock> {
    const lock = new DatabaseLock(url, lost);
    const held = await lock.#try().catch((error) => {
      throw translateDatabaseError(error);
    });
    if (held) return lock;
    throw new CaissonError('data_folder_locked', 'another server uses this database');
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#client?.end().catch(() => {});
  }

  async #try(): Promise<boolean> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: 3_000,
      keepAlive: true,
      application_name: 'caisson lock',
    });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
      advisoryLocks.server,
    ]);
    if (!rows[0]?.held) {
      await client.end();
      return false;
    }
    this.#client = client;
    client.once('end', () => this.#takeAgain());
    return true;
  }

  async #takeAgain(): Promise<void> {
    while (!this.#closed) {
      await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
      if (this.#closed) return;
      try {
        if (!(await this.#try())) this.#lost();
        return;
      } catch {
        // The database is still away; every request says so, and so does /readyz.
      }
    }
  }
}
