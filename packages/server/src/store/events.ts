import { type CaissonEvent, type EventType, type Id, newId, type Sandbox } from '@caisson/contract';
import type { Selectable } from 'kysely';
import { takeTurn } from './advisory-locks.ts';
import type { Database, Queries } from './database.ts';
import { isoTime } from './sandbox-row.ts';
import type { EventTable } from './schema.ts';
import { statement } from './statement.ts';

export interface NewEvent {
  readonly type: EventType;
  readonly subject: string;
  readonly sequence: number;
  readonly tenant: string;
  readonly project: string;
  readonly time: number;
  readonly data: Record<string, unknown>;
}

/** Events about a sandbox that do not change its state. */
export type NotedType = `caisson.sandbox.${'repair' | 'progress' | 'checked' | 'secret-used' | 'credits-low'}`;

export interface EventFilter {
  readonly tenant?: string;
  readonly project?: string;
  readonly subject?: string;
  readonly types?: readonly string[] | undefined;
  /** Only of sandboxes that have all of these. */
  readonly labels?: readonly (readonly [string, string])[] | undefined;
  /** Only events after this position. */
  readonly after: number;
  readonly limit: number;
}

/** Told of each event after its commit; with the sandbox as it is since then, where the event changed its record. */
export type EventListener = (event: CaissonEvent, sandbox?: Sandbox) => void;

/**
 * The log. Positions rise in the order of commit: SQLite has one writer, and on Postgres writers of events take turns
 * from here to their commit, or a reader could pass a position that is filled in only later.
 */
export class EventLog {
  readonly #database: Database;
  readonly #source: string;

  constructor(database: Database, installation: string) {
    this.#database = database;
    this.#source = `/caisson/${installation}`;
  }

  /** Writes within the caller's transaction. The caller's last statement: what follows waits in everybody's way. */
  async append(tx: Queries, event: NewEvent): Promise<CaissonEvent> {
    if (this.#database.engine === 'postgres') await takeTurn(tx, 'events');
    const row = { ...event, id: newId('event', event.time), data: JSON.stringify(event.data) };
    const [inserted] = await insertEvent(tx, row);
    if (!inserted) throw new Error('an event got no position');
    return this.#toEvent({ ...row, ...inserted });
  }

  async list(filter: EventFilter): Promise<CaissonEvent[]> {
    const query = this.#matching(filter).where('position', '>', filter.after);
    const rows = await query.orderBy('position').limit(filter.limit).execute();
    return rows.map((row) => this.#toEvent(row));
  }

  /** Those of one subject from a sequence on, which rises with the position. */
  async ofSubject(
    filter: Omit<EventFilter, 'after' | 'limit'> & { readonly subject: string },
    fromSequence: number,
    limit: number,
  ): Promise<CaissonEvent[]> {
    const query = this.#matching(filter).where('sequence', '>=', fromSequence);
    const rows = await query.orderBy('sequence').limit(limit).execute();
    return rows.map((row) => this.#toEvent(row));
  }

  /** The position of the newest event, or 0. */
  async end(): Promise<number> {
    const row = await this.#database.db
      .selectFrom('events')
      .select((eb) => eb.fn.max('position').as('end'))
      .executeTakeFirst();
    return Number(row?.end ?? 0);
  }

  #matching(filter: Omit<EventFilter, 'after' | 'limit'>) {
    let query = this.#database.db.selectFrom('events').selectAll();
    if (filter.tenant !== undefined) query = query.where('tenant', '=', filter.tenant);
    if (filter.project !== undefined) query = query.where('project', '=', filter.project);
    if (filter.subject !== undefined) query = query.where('subject', '=', filter.subject);
    if (filter.types !== undefined) query = query.where('type', 'in', filter.types);
    for (const [key, value] of filter.labels ?? []) {
      query = query.where((eb) =>
        eb.exists(
          eb
            .selectFrom('sandbox_labels')
            .select('sandbox_labels.sandbox')
            .whereRef('sandbox_labels.sandbox', '=', 'events.subject')
            .where('sandbox_labels.key', '=', key)
            .where('sandbox_labels.value', '=', value),
        ),
      );
    }
    return query;
  }

  #toEvent(row: Selectable<EventTable>): CaissonEvent {
    return {
      specversion: '1.0',
      id: row.id as Id<'event'>,
      source: this.#source,
      type: row.type as EventType,
      subject: row.subject,
      time: isoTime(row.time),
      datacontenttype: 'application/json',
      sequence: row.sequence,
      position: row.position,
      tenant: row.tenant,
      project: row.project,
      data: JSON.parse(row.data) as Record<string, unknown>,
    };
  }
}

const insertEvent = statement((queries, row: Omit<Selectable<EventTable>, 'position'>) =>
  queries
    .insertInto('events')
    .values({
      id: row.id,
      type: row.type,
      subject: row.subject,
      sequence: row.sequence,
      tenant: row.tenant,
      project: row.project,
      time: row.time,
      data: row.data,
    })
    .returning('position'),
);
