import type { EgressTraffic } from '@caisson/contract';
import type { Database, Queries } from './database.ts';
import { retryDeadlocks } from './database-errors.ts';
import { insertEgressRows, type NewEgressRow, rowsPerInsert } from './egress-log.ts';

export interface HostTraffic extends EgressTraffic {
  readonly sandbox: string;
  readonly host: string;
}

/** Programs that reach more hosts than this are crawlers or worse; what they reach beyond is counted together. */
const maxHosts = 1_000;
/** Names that nobody can reach are free to make up: they take at most half of the places. */
const maxRefusedHosts = maxHosts / 2;
/** Sandboxes whose hosts are remembered. One that is not among them costs a query. */
const maxRemembered = 500;

/** How much went where. Counters only rise, and stay as long as the record of their sandbox. */
export class EgressUsageStore {
  readonly #database: Database;
  /** The hosts that have a row: only this process writes them. */
  readonly #hosts = new Map<string, Set<string>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Writes what one moment brought, rows of the log and counters, all of it or nothing. */
  async add(rows: readonly NewEgressRow[], traffic: readonly HostTraffic[]): Promise<void> {
    const placed = await this.#place(traffic);
    await retryDeadlocks(() =>
      this.#database.db.transaction().execute(async (tx) => {
        await insertEgressRows(tx, rows);
        await addTraffic(tx, placed);
      }),
    );
    for (const { sandbox, host } of placed) this.#hosts.get(sandbox)?.add(host);
  }

  /** Those with the most bytes first. */
  async list(sandbox: string): Promise<(EgressTraffic & { host: string })[]> {
    const rows = await this.#database.db
      .selectFrom('egress_usage')
      .selectAll()
      .where('sandbox', '=', sandbox)
      .orderBy((eb) => eb('sent', '+', eb.ref('received')), 'desc')
      .orderBy('host')
      .execute();
    return rows.map(({ host, sent, received, connections, allowed, refused }) => {
      return { host, sentBytes: sent, receivedBytes: received, connections, allowed, refused };
    });
  }

  /** All bytes of a sandbox, both ways. */
  async total(sandbox: string): Promise<number> {
    const row = await this.#database.db
      .selectFrom('egress_usage')
      .select((eb) => eb.fn.sum(eb('sent', '+', eb.ref('received'))).as('bytes'))
      .where('sandbox', '=', sandbox)
      .executeTakeFirst();
    return Number(row?.bytes ?? 0);
  }

  /** The same traffic with the hosts that have no place under `*`. */
  async #place(traffic: readonly HostTraffic[]): Promise<HostTraffic[]> {
    const placed = new Map<string, HostTraffic>();
    const taken = new Map<string, Set<string>>();
    for (const one of traffic) {
      const hosts = taken.get(one.sandbox) ?? new Set(await this.#known(one.sandbox));
      taken.set(one.sandbox, hosts);
      const room = one.connections === 0 && one.allowed === 0 ? maxRefusedHosts : maxHosts;
      const host = hosts.has(one.host) || hosts.size < room ? one.host : '*';
      hosts.add(host);
      const key = `${one.sandbox} ${host}`;
      const before = placed.get(key);
      placed.set(key, before === undefined ? { ...one, host } : sum(before, one));
    }
    return [...placed.values()];
  }

  async #known(sandbox: string): Promise<Set<string>> {
    const present = this.#hosts.get(sandbox);
    if (present) return present;
    const rows = await this.#database.db
      .selectFrom('egress_usage')
      .select('host')
      .where('sandbox', '=', sandbox)
      .execute();
    const hosts = new Set(rows.map(({ host }) => host));
    const [oldest] = this.#hosts.keys();
    if (oldest !== undefined && this.#hosts.size >= maxRemembered) this.#hosts.delete(oldest);
    this.#hosts.set(sandbox, hosts);
    return hosts;
  }
}

function sum(one: HostTraffic, other: EgressTraffic): HostTraffic {
  return {
    sandbox: one.sandbox,
    host: one.host,
    sentBytes: one.sentBytes + other.sentBytes,
    receivedBytes: one.receivedBytes + other.receivedBytes,
    connections: one.connections + other.connections,
    allowed: one.allowed + other.allowed,
    refused: one.refused + other.refused,
  };
}

async function addTraffic(tx: Queries, traffic: readonly HostTraffic[]): Promise<void> {
  const rows = traffic.map(({ sandbox, host, sentBytes: sent, receivedBytes: received, ...counts }) => {
    const { connections, allowed, refused } = counts;
    return { sandbox, host, sent, received, connections, allowed, refused };
  });
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    await tx
      .insertInto('egress_usage')
      .values(rows.slice(at, at + rowsPerInsert))
      .onConflict((conflict) =>
        conflict.columns(['sandbox', 'host']).doUpdateSet((eb) => ({
          sent: eb('egress_usage.sent', '+', eb.ref('excluded.sent')),
          received: eb('egress_usage.received', '+', eb.ref('excluded.received')),
          connections: eb('egress_usage.connections', '+', eb.ref('excluded.connections')),
          allowed: eb('egress_usage.allowed', '+', eb.ref('excluded.allowed')),
          refused: eb('egress_usage.refused', '+', eb.ref('excluded.refused')),
        })),
      )
      .execute();
  }
}
