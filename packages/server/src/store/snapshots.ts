import {
  CaissonError,
  type CaissonEvent,
  type Id,
  type Labels,
  type Owner,
  type Sandbox,
  type SandboxPolicy,
  type Snapshot,
  turnName,
} from '@caisson/contract';
import type { Selectable } from 'kysely';
import type { AttemptImage } from './attempts.ts';
import type { Database, Queries } from './database.ts';
import { retryDeadlocks, violatedUnique } from './database-errors.ts';
import type { EventListener, EventLog } from './events.ts';
import { type IdempotentRequest, insertAnswer } from './idempotency.ts';
import { giveQuotaBack, oneSnapshot, takeQuota } from './quotas.ts';
import { isoTime, rowOwner } from './sandbox-row.ts';
import type { SnapshotTable } from './schema.ts';
import { isSnapshotInUse } from './snapshot-use.ts';

/** `fork`: made only to begin new sandboxes from; nobody sees it, and it goes when they have begun. */
export type StoredKind = Snapshot['kind'] | 'fork';

/** Everything that a sandbox made from a snapshot needs to know; the one it was taken of may be gone by then. */
export interface SnapshotInputs {
  readonly spec: unknown;
  readonly resolvedSpec: unknown;
  readonly blueprint: unknown;
  readonly driver: string;
  readonly persistence: Sandbox['persistence'];
  readonly profile: Sandbox['profile'];
  readonly policy: SandboxPolicy;
  readonly image: AttemptImage;
}

export interface NewSnapshot {
  readonly id: Id<'snapshot'>;
  readonly kind: StoredKind;
  readonly name: string | null;
  readonly labels: Labels;
  readonly inputs: SnapshotInputs;
}

/** One that comes from elsewhere: it has no sandbox here. */
export interface ForeignSnapshot extends NewSnapshot {
  readonly sandbox: Id<'sandbox'>;
  readonly owner: Owner;
  readonly blueprintDigest: string;
}

export interface SnapshotFilter {
  readonly tenant: string;
  readonly project: string;
  readonly sandbox?: string | undefined;
  readonly kind?: Snapshot['kind'] | undefined;
  readonly name?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** One as it is kept, whole or not. */
export interface StoredSnapshot extends Omit<Snapshot, 'kind' | 'exclusiveBytes'> {
  readonly kind: StoredKind;
  readonly state: 'making' | 'ready' | 'deleting';
}

/**
 * Snapshots and the tree they are.
 *
 * Law: a row is written as `making` before its files are, and becomes `ready` when they are whole; it becomes `deleting`
 * before its files go, and goes after them. So whatever is found in storage has a row that says what it is, and whoever
 * finds a row that is not `ready` and that nobody is at work on removes both.
 */
export class SnapshotStore {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #committed: EventListener;

  constructor(database: Database, events: EventLog, committed: EventListener) {
    this.#database = database;
    this.#events = events;
    this.#committed = committed;
  }

  /** A turn takes its number here, and keeps it whatever becomes of it: numbers never come twice. */
  async begin(sandbox: Sandbox, snapshot: NewSnapshot): Promise<StoredSnapshot> {
    return this.#transaction(async (tx) => {
      const isTurn = snapshot.kind === 'turn';
      const { turn, head } = await tx
        .updateTable('sandboxes')
        .set((eb) => ({ turn: eb('turn', '+', isTurn ? 1 : 0) }))
        .where('id', '=', sandbox.id)
        .returning(['turn', 'head'])
        .executeTakeFirstOrThrow();
      const own = isTurn ? { name: turnName(turn), turn } : { name: snapshot.name, turn: null };
      const { id: of, owner, blueprintDigest } = sandbox;
      return insert(tx, { ...snapshot, ...own, sandbox: of, owner, blueprintDigest }, head);
    });
  }

  /** Writes what comes from elsewhere; it is finished like any other. */
  beginForeign(snapshot: ForeignSnapshot): Promise<StoredSnapshot> {
    return this.#transaction((tx) => insert(tx, { ...snapshot, turn: null }, null));
  }

  /** Its files are whole: from now on it is there. The answer to a repetition of the request is written with it. */
  async finish(id: Id<'snapshot'>, frozenMs: number | null, idempotency?: IdempotentRequest): Promise<Snapshot> {
    const { snapshot, event } = await this.#transaction(async (tx) => {
      const row = await tx
        .updateTable('snapshots')
        .set({ state: 'ready', frozen_us: frozenMs === null ? null : Math.round(frozenMs * 1000) })
        .where('id', '=', id)
        .where('state', '=', 'making')
        .returningAll()
        .executeTakeFirst();
      if (!row) throw new CaissonError('snapshot_not_found', `${id} was removed while it was being made`);
      const made = asSnapshot(toStored(row));
      if (idempotency) await insertAnswer(tx, idempotency, 201, made);
      return { snapshot: made, event: row.kind === 'fork' ? undefined : await this.#tell(tx, row, 'snapshot', id) };
    });
    if (event) this.#committed(event);
    return snapshot;
  }

  async get(id: string): Promise<StoredSnapshot | undefined> {
    const row = await this.#database.db.selectFrom('snapshots').selectAll().where('id', '=', id).executeTakeFirst();
    return row && toStored(row);
  }

  async inputs(id: string): Promise<SnapshotInputs | undefined> {
    const row = await this.#database.db
      .selectFrom('snapshots')
      .select('inputs')
      .where('id', '=', id)
      .executeTakeFirst();
    return row && (JSON.parse(row.inputs) as SnapshotInputs);
  }

  /** By its name within a sandbox. */
  async named(sandbox: string, name: string): Promise<StoredSnapshot | undefined> {
    const row = await this.#database.db
      .selectFrom('snapshots')
      .selectAll()
      .where('sandbox', '=', sandbox)
      .where('name', '=', name)
      .where('state', '=', 'ready')
      .executeTakeFirst();
    return row && toStored(row);
  }

  /** Newest first. */
  async list(filter: SnapshotFilter): Promise<Snapshot[]> {
    let query = this.#database.db
      .selectFrom('snapshots')
      .selectAll()
      .where('tenant', '=', filter.tenant)
      .where('project', '=', filter.project)
      .where('state', '=', 'ready')
      .where('kind', '<>', 'fork');
    if (filter.sandbox !== undefined) query = query.where('sandbox', '=', filter.sandbox);
    if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind);
    if (filter.name !== undefined) query = query.where('name', '=', filter.name);
    if (filter.after !== undefined) query = query.where('id', '<', filter.after);
    const rows = await query.orderBy('id', 'desc').limit(filter.limit).execute();
    return rows.map((row) => asSnapshot(toStored(row)));
  }

  async count(sandbox: string, kind: StoredKind): Promise<number> {
    const row = await this.#database.db
      .selectFrom('snapshots')
      .select((eb) => eb.fn.countAll().as('count'))
      .where('sandbox', '=', sandbox)
      .where('kind', '=', kind)
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  }

  /** The oldest of one kind beyond so many. */
  async beyond(sandbox: string, kind: 'turn' | 'tool', keep: number): Promise<Id<'snapshot'>[]> {
    const rows = await this.#database.db
      .selectFrom('snapshots')
      .select('id')
      .where('sandbox', '=', sandbox)
      .where('kind', '=', kind)
      .where('state', '=', 'ready')
      // Ids go by the clock, which may be put back; numbers of turns only rise.
      .orderBy('turn', 'desc')
      .orderBy('id', 'desc')
      .limit(1000)
      .offset(keep)
      .execute();
    return rows.map(({ id }) => id as Id<'snapshot'>).reverse();
  }

  async relabel(id: string, change: { readonly name?: string; readonly labels?: Labels }): Promise<Snapshot> {
    return this.#transaction(async (tx) => {
      const row = await tx
        .updateTable('snapshots')
        .set({
          // A name of one's own makes it one that is never removed by itself; the turn it was stays told.
          ...(change.name === undefined ? {} : { name: change.name, kind: 'named' }),
          ...(change.labels === undefined ? {} : { labels: JSON.stringify(change.labels) }),
        })
        .where('id', '=', id)
        .where('state', '=', 'ready')
        .returningAll()
        .executeTakeFirst();
      if (!row) throw new CaissonError('snapshot_not_found', `there is no snapshot ${id}`);
      return asSnapshot(toStored(row));
    });
  }

  /**
   * From now on it is not there, only its files are. What was made after it hangs on what it hung on. False when somebody
   * else removes it already.
   */
  async beginDelete(id: string): Promise<boolean> {
    const event = await this.#transaction(async (tx) => {
      const row = await tx
        .updateTable('snapshots')
        .set({ state: 'deleting' })
        .where('id', '=', id)
        .where('state', '<>', 'deleting')
        .returningAll()
        .executeTakeFirst();
      if (!row) return undefined;
      await tx.updateTable('snapshots').set({ parent: row.parent }).where('parent', '=', id).execute();
      await tx.updateTable('sandboxes').set({ head: row.parent }).where('head', '=', id).execute();
      return row.kind === 'fork' ? null : await this.#tell(tx, row, 'snapshot-removed');
    });
    if (event) this.#committed(event);
    return event !== undefined;
  }

  /** Whether somebody began to use it while it was there, and is not done yet. */
  isInUse(id: string): Promise<boolean> {
    return isSnapshotInUse(this.#database.db, id);
  }

  async endDelete(id: string): Promise<void> {
    await this.#transaction(async (tx) => {
      const row = await tx
        .deleteFrom('snapshots')
        .where('id', '=', id)
        .where('state', '=', 'deleting')
        .returning(['tenant', 'project', 'kind'])
        .executeTakeFirst();
      if (row && row.kind !== 'fork') await giveQuotaBack(tx, row, oneSnapshot);
    });
  }

  /** Those that are being made or removed, or were when their server ended. */
  async unfinished(limit: number): Promise<StoredSnapshot[]> {
    const rows = await this.#database.db
      .selectFrom('snapshots')
      .selectAll()
      .where('state', '<>', 'ready')
      .limit(limit)
      .execute();
    return rows.map(toStored);
  }

  /** Those of forks; each of them goes when nobody begins from it any more. */
  async forks(limit: number): Promise<StoredSnapshot[]> {
    const rows = await this.#database.db
      .selectFrom('snapshots')
      .selectAll()
      .where('kind', '=', 'fork')
      .where('state', '=', 'ready')
      .limit(limit)
      .execute();
    return rows.map(toStored);
  }

  /** An event of its sandbox, where that is one of ours. With `head` its files are equal to that from now on. */
  async #tell(
    tx: Queries,
    row: SnapshotRow,
    what: 'snapshot' | 'snapshot-removed',
    head?: Id<'snapshot'>,
  ): Promise<CaissonEvent | null> {
    const sandbox = await tx
      .updateTable('sandboxes')
      .set((eb) => ({ sequence: eb('sequence', '+', 1), ...(head === undefined ? {} : { head }) }))
      .where('id', '=', row.sandbox)
      .returning(['sequence', 'tenant', 'project'])
      .executeTakeFirst();
    if (!sandbox) return null;
    const { id: snapshot, kind, name, parent } = row;
    return this.#events.append(tx, {
      ...sandbox,
      type: `caisson.sandbox.${what}`,
      subject: row.sandbox,
      time: Date.now(),
      data: { snapshot, kind, name, parent },
    });
  }

  async #transaction<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    try {
      return await retryDeadlocks(() => this.#database.db.transaction().execute(work));
    } catch (error) {
      if (violatedUnique(error)) throw new CaissonError('snapshot_exists');
      throw error;
    }
  }
}

type SnapshotRow = Selectable<SnapshotTable>;

async function insert(
  tx: Queries,
  snapshot: ForeignSnapshot & { readonly turn: number | null },
  parent: string | null,
): Promise<StoredSnapshot> {
  const { owner, inputs, labels, blueprintDigest, ...rest } = snapshot;
  const { scope = null, ...of } = owner;
  const row = await tx
    .insertInto('snapshots')
    .values({
      ...rest,
      ...of,
      scope,
      parent,
      state: 'making',
      labels: JSON.stringify(labels),
      inputs: JSON.stringify(inputs),
      blueprint_digest: blueprintDigest,
      created_at: Date.now(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  if (row.kind !== 'fork') await takeQuota(tx, row, oneSnapshot);
  return toStored(row);
}

function toStored(row: SnapshotRow): StoredSnapshot {
  return {
    id: row.id as Id<'snapshot'>,
    sandbox: row.sandbox as Id<'sandbox'>,
    owner: rowOwner(row),
    kind: row.kind as StoredKind,
    name: row.name,
    turn: row.turn,
    parent: row.parent as Id<'snapshot'> | null,
    state: row.state as StoredSnapshot['state'],
    labels: JSON.parse(row.labels) as Labels,
    blueprintDigest: row.blueprint_digest,
    frozenMs: row.frozen_us === null ? null : row.frozen_us / 1000,
    createdAt: isoTime(row.created_at),
  };
}

/** As every surface shows it. */
export function asSnapshot({ state: _, kind, ...rest }: StoredSnapshot): Snapshot {
  return { ...rest, kind: kind as Snapshot['kind'], exclusiveBytes: null };
}
