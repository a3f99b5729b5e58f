import {
  type Backend,
  CaissonError,
  type FailedTry,
  type HourlyRates,
  type Id,
  type Sandbox,
  type SandboxRoute,
} from '@caisson/contract';
import { isSwitchedOff } from './credits-switch.ts';
import type { Database, Queries } from './database.ts';
import type { EventListener, EventLog } from './events.ts';
import { free, turnMeter } from './meters.ts';
import { type SandboxRow, toSandbox } from './sandbox-row.ts';
import type { SandboxSize } from './sandbox-size.ts';
import { sandboxTransaction } from './sandbox-transaction.ts';

/**
 * A decision as it is kept: with its attempt, in the same row, so that a create writes nothing more for it. Where the
 * attempt went in the end is the attempt's own business.
 */
export type StoredRoute = Omit<SandboxRoute, 'attempt' | 'driver' | 'host'>;

/** How long the launches of a backend take, as it was last known. */
export interface KeptMeasure extends Backend {
  readonly ms: number;
  readonly weight: number;
  readonly at: number;
}

export class RouteStore {
  readonly #database: Database;
  readonly #events: EventLog;
  readonly #committed: EventListener;

  constructor(database: Database, events: EventLog, committed: EventListener) {
    this.#database = database;
    this.#events = events;
    this.#committed = committed;
  }

  async ofAttempt(attempt: Id<'attempt'>): Promise<StoredRoute | undefined> {
    const row = await this.#database.db
      .selectFrom('attempts')
      .select('route')
      .where('id', '=', attempt)
      .executeTakeFirst();
    return row?.route ? (JSON.parse(row.route) as StoredRoute) : undefined;
  }

  /** The newest decision about a sandbox: later attempts go where its files are. */
  async ofSandbox(sandbox: Id<'sandbox'>): Promise<{ attempt: Id<'attempt'>; route: StoredRoute } | undefined> {
    const row = await this.#database.db
      .selectFrom('attempts')
      .select(['id', 'route'])
      .where('sandbox', '=', sandbox)
      .where('route', 'is not', null)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (!row?.route) return undefined;
    return { attempt: row.id as Id<'attempt'>, route: JSON.parse(row.route) as StoredRoute };
  }

  /**
   * The sandbox goes on with another backend, in the same state and attempt. Refused with `state_changed` when it is no
   * longer as the caller saw it.
   */
  async move(
    seen: Sandbox,
    to: Backend,
    route: StoredRoute,
    failed: FailedTry,
    ratesOf?: (to: Backend, size: SandboxSize) => HourlyRates | null,
  ): Promise<Sandbox> {
    const now = Date.now();
    const moved = await sandboxTransaction(this.#database, async (tx) => {
      const row = await tx
        .updateTable('sandboxes')
        .set((eb) => ({ driver: to.driver, host: to.host, sequence: eb('sequence', '+', 1), updated_at: now }))
        .where('id', '=', seen.id)
        .where('state', '=', seen.state)
        .where('incarnation', '=', seen.incarnation)
        .where('action', seen.action === null ? 'is' : '=', seen.action)
        .returningAll()
        .executeTakeFirst();
      if (!row) throw new CaissonError('state_changed', `${seen.id} changed while another backend was tried`);
      await tx
        .updateTable('attempts')
        .set({ driver: to.driver, route: JSON.stringify(route) })
        .where('id', '=', seen.attempt ?? '')
        .execute();
      if (row.metered > 0) await takeRates(tx, row, to, ratesOf, now);
      if (seen.host !== to.host) await movePlaces(tx, seen.host, to.host);
      const { sequence, tenant, project } = row;
      const { driver, host, reason } = failed;
      const event = await this.#events.append(tx, {
        type: 'caisson.sandbox.rerouted',
        subject: seen.id,
        sequence,
        tenant,
        project,
        time: now,
        data: { from: { driver, host }, to: { driver: to.driver, host: to.host }, reason },
      });
      return { sandbox: toSandbox(row), event };
    });
    this.#committed(moved.event, moved.sandbox);
    return moved.sandbox;
  }

  async measured(): Promise<KeptMeasure[]> {
    const rows = await this.#database.db.selectFrom('backends').selectAll().execute();
    return rows.map((row) => ({
      driver: row.driver,
      host: row.host,
      ms: row.launch_us / 1000,
      weight: row.weight_millis / 1000,
      at: row.measured_at,
    }));
  }

  async keep(measures: readonly KeptMeasure[]): Promise<void> {
    for (const { driver, host, ms, weight, at } of measures) {
      const values = {
        launch_us: Math.round(ms * 1000),
        weight_millis: Math.round(weight * 1000),
        measured_at: Math.round(at),
      };
      await this.#database.db
        .insertInto('backends')
        .values({ driver, host, ...values })
        .onConflict((conflict) => conflict.columns(['driver', 'host']).doUpdateSet(values))
        .execute();
    }
  }
}

/** It costs there what it costs there; where that is not known it does not go, unless nobody pays. */
async function takeRates(
  tx: Queries,
  row: SandboxRow,
  to: Backend,
  ratesOf: ((to: Backend, size: SandboxSize) => HourlyRates | null) | undefined,
  now: number,
): Promise<void> {
  const size = { cpuMillis: row.cpu_millis, memoryMiB: row.memory_mib, diskMiB: row.disk_mib };
  const rates = ratesOf?.(to, size) ?? ((await isSwitchedOff(tx, row.tenant)) ? free : undefined);
  if (!rates) throw new CaissonError('price_unknown', `nobody said what a sandbox of the driver ${to.driver} costs`);
  await turnMeter(tx, row, now, rates);
}

/** Its place on one host is given back, and one on the other taken, in a fixed order of rows. */
async function movePlaces(tx: Queries, from: string | null, to: string): Promise<void> {
  const changes = [...(from === null ? [] : [{ host: from, by: -1 }]), { host: to, by: 1 }].sort((a, b) =>
    a.host < b.host ? -1 : 1,
  );
  for (const { host, by } of changes) {
    await tx
      .updateTable('hosts')
      .set((eb) => ({ live_sandboxes: eb('live_sandboxes', '+', by) }))
      .where('name', '=', host)
      .execute();
  }
}
