import type { AttemptImage } from './attempts.ts';
import type { Database } from './database.ts';

/** Whose use is asked for; without a project those of the whole tenant. */
export interface ImageUsers {
  readonly tenant: string;
  readonly project?: string | undefined;
}

/** An image as somebody uses it. */
export interface ImageUse {
  readonly digest: string;
  /** By sandboxes that are not destroyed. */
  readonly sandboxes: number;
  readonly snapshots: number;
  /** A blueprint of theirs that it was made from, the newest. */
  readonly blueprint: unknown;
}

/** Small enough that a page never holds up a request. */
const pageSize = 500;

/** Which images sandboxes and snapshots name. */
export class ImageUses {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Every digest that a sandbox which is not destroyed, or a snapshot, names. */
  async digests(signal: AbortSignal): Promise<Set<string>> {
    const found = new Set<string>();
    for await (const { image } of this.#attempts(undefined, signal)) found.add(image.digest);
    for await (const { image } of this.#snapshots(undefined, signal)) found.add(image.digest);
    return found;
  }

  /** What these users have, and nothing of anybody else. */
  async of(users: ImageUsers, signal: AbortSignal): Promise<ImageUse[]> {
    const found = new Map<string, { sandboxes: Set<string>; snapshots: number; blueprint: () => Promise<unknown> }>();
    const entry = (digest: string, blueprint: () => Promise<unknown>) => {
      const known = found.get(digest) ?? { sandboxes: new Set<string>(), snapshots: 0, blueprint };
      known.blueprint = blueprint;
      found.set(digest, known);
      return known;
    };
    for await (const { image, blueprint } of this.#snapshots(users, signal))
      entry(image.digest, async () => blueprint).snapshots++;
    for await (const { id, sandbox, image } of this.#attempts(users, signal))
      entry(image.digest, () => this.#blueprint(id)).sandboxes.add(sandbox);
    const uses: ImageUse[] = [];
    for (const [digest, { sandboxes, snapshots, blueprint }] of found)
      uses.push({ digest, sandboxes: sandboxes.size, snapshots, blueprint: await blueprint() });
    return uses;
  }

  async #blueprint(attempt: string): Promise<unknown> {
    const { db } = this.#database;
    const row = await db.selectFrom('attempts').select('blueprint').where('id', '=', attempt).executeTakeFirst();
    return row && JSON.parse(row.blueprint);
  }

  async *#attempts(
    users: ImageUsers | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<{ id: string; sandbox: string; image: AttemptImage }> {
    for (let after = ''; ; ) {
      signal.throwIfAborted();
      let query = this.#database.db
        .selectFrom('attempts')
        .innerJoin('sandboxes', 'sandboxes.id', 'attempts.sandbox')
        .select(['attempts.id', 'attempts.sandbox', 'attempts.image'])
        .where('sandboxes.state', '!=', 'destroyed')
        .where('attempts.image', 'is not', null)
        .where('attempts.id', '>', after);
      if (users) query = query.where('sandboxes.tenant', '=', users.tenant).where('attempts.tenant', '=', users.tenant);
      if (users?.project !== undefined) query = query.where('sandboxes.project', '=', users.project);
      const rows = await query.orderBy('attempts.id').limit(pageSize).execute();
      for (const { id, sandbox, image } of rows)
        if (image) yield { id, sandbox, image: JSON.parse(image) as AttemptImage };
      const last = rows.at(-1);
      if (!last || rows.length < pageSize) return;
      after = last.id;
    }
  }

  async *#snapshots(
    users: ImageUsers | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<{ image: AttemptImage; blueprint: unknown }> {
    for (let after = ''; ; ) {
      signal.throwIfAborted();
      let query = this.#database.db.selectFrom('snapshots').select(['id', 'inputs']).where('id', '>', after);
      if (users) query = query.where('tenant', '=', users.tenant).where('kind', '!=', 'fork');
      if (users?.project !== undefined) query = query.where('project', '=', users.project);
      const rows = await query.orderBy('id').limit(pageSize).execute();
      for (const { inputs } of rows) {
        const { image, blueprint } = JSON.parse(inputs) as { image?: AttemptImage; blueprint?: unknown };
        if (image) yield { image, blueprint };
      }
      const last = rows.at(-1);
      if (!last || rows.length < pageSize) return;
      after = last.id;
    }
  }
}
