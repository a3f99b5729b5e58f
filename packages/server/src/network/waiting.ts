import type { EgressTraffic, Id } from '@caisson/contract';
import type { NewEgressRow } from '../store/egress-log.ts';
import type { HostTraffic } from '../store/egress-usage.ts';
import type { EgressDecision, EgressMoved } from './egress.ts';

/** Of one sandbox between two writes. More different decisions than these are a flood, and are counted together. */
const maxRows = 1_000;
/** Of all sandboxes: some megabytes, however slow the store is. */
const maxRowsOfAll = 20_000;
/** As many as a sandbox can have in the store. */
const maxHosts = 1_000;
/** A DNS name has 253 characters; what cannot be read as one may be anything. */
const maxText = 261;

/** What stands for several that are not told apart. */
const several = '*';

/** What of one sandbox is not written yet. */
class SandboxWaiting {
  /** In the order in which they came first. */
  readonly allowed = new Map<string, NewEgressRow>();
  readonly refused = new Map<string, NewEgressRow>();
  /** What was too much: one row for all that was allowed, and one for each reason of a refusal. */
  readonly folded = new Map<string, NewEgressRow>();
  readonly traffic = new Map<string, EgressTraffic>();

  get rows(): number {
    return this.allowed.size + this.refused.size;
  }
}

/**
 * What the journal has not written yet.
 *
 * Laws
 * - Equal decisions are one row with a count.
 * - It never holds more than so many rows. What is too much is counted under `*`: of what was allowed the oldest first;
 *   of what was refused only what comes when nothing is left that was allowed, and its reason stays.
 * - Every decision and every byte is counted, in whichever row.
 */
export class Waiting {
  readonly #sandboxes = new Map<Id<'sandbox'>, SandboxWaiting>();
  #rows = 0;

  get isEmpty(): boolean {
    return this.#sandboxes.size === 0;
  }

  get sandboxes(): Iterable<Id<'sandbox'>> {
    return this.#sandboxes.keys();
  }

  decided(decision: EgressDecision, now: number): void {
    const of = this.#of(decision.sandbox);
    const row = rowOf(decision, now);
    addTraffic(of, row.host, { [decision.verdict]: 1 });
    const rows = of[decision.verdict];
    const key = keyOf(row);
    const present = rows.get(key);
    if (present) {
      present.count += 1;
      return;
    }
    const isFull = () => of.rows >= maxRows || this.#rows >= maxRowsOfAll;
    if (isFull()) this.#dropOldest(of);
    if (isFull()) fold(of, row);
    else {
      rows.set(key, row);
      this.#rows += 1;
    }
  }

  moved(sandbox: Id<'sandbox'>, host: string, { sentBytes, receivedBytes, connections }: EgressMoved): void {
    addTraffic(this.#of(sandbox), plain(host), { sentBytes, receivedBytes, connections });
  }

  /** All bytes of one sandbox, both ways. */
  bytes(sandbox: Id<'sandbox'>): number {
    let sum = 0;
    for (const one of this.#sandboxes.get(sandbox)?.traffic.values() ?? []) sum += one.sentBytes + one.receivedBytes;
    return sum;
  }

  /** In the order of time. */
  rows(): NewEgressRow[] {
    const all = [...this.#sandboxes.values()].flatMap(({ allowed, refused, folded }) => [
      ...allowed.values(),
      ...refused.values(),
      ...folded.values(),
    ]);
    return all.sort((a, b) => a.time - b.time);
  }

  traffic(): HostTraffic[] {
    return [...this.#sandboxes].flatMap(([sandbox, { traffic }]) =>
      [...traffic].map(([host, one]) => ({ sandbox, host, ...one })),
    );
  }

  #of(sandbox: Id<'sandbox'>): SandboxWaiting {
    const present = this.#sandboxes.get(sandbox);
    if (present) return present;
    const made = new SandboxWaiting();
    this.#sandboxes.set(sandbox, made);
    return made;
  }

  #dropOldest(of: SandboxWaiting): void {
    const [oldest] = of.allowed;
    if (oldest === undefined) return;
    of.allowed.delete(oldest[0]);
    this.#rows -= 1;
    fold(of, oldest[1]);
  }
}

function fold({ folded }: SandboxWaiting, row: NewEgressRow): void {
  const { sandbox, verdict, why = null, protocol, time, count } = row;
  const key = `${verdict} ${why} ${protocol}`;
  const present = folded.get(key);
  if (present) {
    present.count += count;
    present.time = Math.min(present.time, time);
    return;
  }
  const nothing = { address: null, rule: null, suggestion: null, secrets: null };
  folded.set(key, { sandbox, verdict, why, protocol, time, count, host: several, port: 0, ...nothing });
}

function addTraffic({ traffic }: SandboxWaiting, host: string, change: Partial<EgressTraffic>): void {
  const name = traffic.has(host) || traffic.size < maxHosts ? host : several;
  let sum = traffic.get(name);
  if (sum === undefined) {
    sum = { sentBytes: 0, receivedBytes: 0, connections: 0, allowed: 0, refused: 0 };
    traffic.set(name, sum);
  }
  sum.sentBytes += change.sentBytes ?? 0;
  sum.receivedBytes += change.receivedBytes ?? 0;
  sum.connections += change.connections ?? 0;
  sum.allowed += change.allowed ?? 0;
  sum.refused += change.refused ?? 0;
}

function rowOf(decision: EgressDecision, time: number): NewEgressRow {
  const { sandbox, verdict, host, port, protocol, address, rule, why, suggestion, secrets } = decision;
  return {
    sandbox,
    time,
    verdict,
    host: plain(host),
    port,
    protocol,
    address: address === undefined ? null : plain(address),
    rule: rule === undefined ? null : plain(rule),
    why: why ?? null,
    suggestion: suggestion === undefined ? null : plain(suggestion),
    secrets: secrets && secrets.length > 0 ? JSON.stringify(secrets) : null,
    count: 1,
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it replaces.
const control = /[\u0000-\u001f\u007f]/;

/** Some of it comes from inside. A NUL is refused by Postgres, and with it everything that is written together. */
function plain(text: string): string {
  const cut = text.slice(0, maxText);
  return control.test(cut) ? cut.replaceAll(new RegExp(control, 'g'), '?') : cut;
}

/** No part of it holds a line break. */
function keyOf({ host, port, protocol, address, rule, why, suggestion, secrets }: NewEgressRow): string {
  return `${host}\n${port}\n${protocol}\n${address}\n${rule}\n${why}\n${suggestion}\n${secrets}`;
}
