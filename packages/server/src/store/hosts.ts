import type { Database } from './database.ts';

export class HostStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async seen(name: string, version: string, now: number = Date.now()): Promise<void> {
    await this.#database.db
      .insertInto('hosts')
      .values({ name, version, live_sandboxes: 0, seen_at: now })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ version, seen_at: now }))
      .execute();
  }

  async list(): Promise<
    { name: string; version: string; liveSandboxes: number; maxSandboxes: number | null; seenAt: number }[]
  > {
    const rows = await this.#database.db.selectFrom('hosts').selectAll().orderBy('name').execute();
    return rows.map((row) => ({
      name: row.name,
      version: row.version,
      liveSandboxes: row.live_sandboxes,
      maxSandboxes: row.max_sandboxes,
      seenAt: row.seen_at,
    }));
  }
}
