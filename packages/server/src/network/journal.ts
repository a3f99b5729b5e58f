import type { EgressRecord, EgressTraffic, EgressUsage, Id } from '@caisson/contract';
import { followLog } from '../events/follow-log.ts';
import type { NewEgressRow } from '../store/egress-log.ts';
import type { Store } from '../store/store.ts';
import type { EgressDecision, EgressJournal, EgressMoved } from './egress.ts';
import { SecretUses } from './secret-uses.ts';
import { Waiting } from './waiting.ts';

/** How long a decision waits for others like it. Longer writes less; who follows the log sees it that much later. */
const everyMs = 200;
/** A store that failed is asked again after so long. */
const retryMs = 1_000;
/** How often a journal that closes tries to write what is left. */
const lastTries = 3;
/** What is older is of no use to who looks for why something fails, and takes room. */
const keptRows = 10_000;
/** The bound is looked at once in so many rows, so that it costs nothing; a log may be longer by a few times this. */
const lookEvery = 500;

type JournalStore = Pick<Store, 'egressLog' | 'egressUsage' | 'sandboxes'>;
type EgressQuery = { readonly sandbox: Id<'sandbox'>; readonly verdict?: EgressRecord['verdict'] | undefined };

/**
 * What happened on the way out, in the store. Nobody waits for it: decisions are gathered in memory, equal ones folded,
 * and written together. A batch is written whole or again, so no decision and no byte counts twice.
 */
export class Journal implements EgressJournal {
  readonly #store: JournalStore;
  readonly #secrets = new SecretUses();
  readonly #readers = new Map<string, Set<() => void>>();
  #waiting = new Waiting();
  /** What is being written, or could not be. */
  #batch: Waiting | undefined;
  #writing: Promise<boolean> | undefined;
  /** Rises whenever a write begins. */
  #writes = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(store: JournalStore) {
    this.#store = store;
  }

  /** Since the start, of all sandboxes together. */
  readonly counted = { allowed: 0, refused: 0, sentBytes: 0, receivedBytes: 0 };

  decided(decision: EgressDecision): void {
    this.counted[decision.verdict] += 1;
    this.#waiting.decided(decision, Date.now());
    for (const secret of decision.secrets ?? []) this.#secrets.used(decision.sandbox, secret, decision.host);
    this.#later(everyMs);
  }

  moved(sandbox: Id<'sandbox'>, host: string, moved: EgressMoved): void {
    this.counted.sentBytes += moved.sentBytes;
    this.counted.receivedBytes += moved.receivedBytes;
    this.#waiting.moved(sandbox, host, moved);
    this.#later(everyMs);
  }

  async total(sandbox: Id<'sandbox'>): Promise<number> {
    for (;;) {
      await this.#writing;
      const writes = this.#writes;
      const written = await this.#store.egressUsage.total(sandbox);
      // What was on its way meanwhile may be in both, or in neither.
      if (writes !== this.#writes) continue;
      return written + this.#waiting.bytes(sandbox) + (this.#batch?.bytes(sandbox) ?? 0);
    }
  }

  /** Records after a position, oldest first, with everything that has been decided by now. */
  async list(query: EgressQuery, after: number, limit: number): Promise<EgressRecord[]> {
    await this.flush();
    return this.#store.egressLog.list({ ...query, after, limit });
  }

  /** Where a reader begins who wants only what is to come. */
  async end(sandbox: Id<'sandbox'>): Promise<number> {
    await this.flush();
    return this.#store.egressLog.end(sandbox);
  }

  async usage(sandbox: Id<'sandbox'>): Promise<Pick<EgressUsage, 'hosts' | 'totals'>> {
    await this.flush();
    const hosts = await this.#store.egressUsage.list(sandbox);
    const totals: EgressTraffic = { sentBytes: 0, receivedBytes: 0, connections: 0, allowed: 0, refused: 0 };
    for (const { host: _, ...traffic } of hosts) {
      for (const name of Object.keys(totals) as (keyof EgressTraffic)[]) totals[name] += traffic[name];
    }
    return { hosts, totals };
  }

  /** Every record after a position, then each new one, until the signal. */
  follow(query: EgressQuery, after: number, signal: AbortSignal): AsyncGenerator<EgressRecord> {
    const log = {
      list: (position: number, limit: number) => this.#store.egressLog.list({ ...query, after: position, limit }),
      subscribe: (wake: () => void) => this.#subscribe(query.sandbox, wake),
    };
    return followLog(log, after, signal);
  }

  /** Writes what has come by now; false when the store did not take it, which is then tried again. */
  async flush(): Promise<boolean> {
    // What runs has begun before, and may lack what has come since.
    await this.#writing;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Writes what is left, as far as the store takes it. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (let tries = 0; tries < lastTries && !(this.#waiting.isEmpty && !this.#batch); tries += 1) await this.flush();
    await this.#tellSecrets(true);
  }

  #later(ms: number): void {
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush().then((written) => {
        // Also when nothing more comes: a use of a secret may still have to be told, when its minute is over.
        if (!written || !this.#waiting.isEmpty || !this.#secrets.isEmpty) this.#later(written ? everyMs : retryMs);
      });
    }, ms);
    this.#timer.unref();
  }

  /** Never throws: what fails is kept for the next time. */
  async #write(): Promise<boolean> {
    const told = await this.#tellSecrets(false);
    if (this.#batch === undefined) {
      if (this.#waiting.isEmpty) return told;
      this.#batch = this.#waiting;
      this.#waiting = new Waiting();
    }
    const batch = this.#batch;
    const rows = batch.rows();
    this.#writes += 1;
    try {
      await this.#store.egressUsage.add(rows, batch.traffic());
    } catch {
      return false;
    }
    this.#batch = undefined;
    for (const sandbox of batch.sandboxes) for (const wake of this.#readers.get(sandbox) ?? []) wake();
    await this.#prune(rows);
    return told;
  }

  async #tellSecrets(all: boolean): Promise<boolean> {
    let told = true;
    for (const use of this.#secrets.take(Date.now(), all)) {
      const { sandbox, ...data } = use;
      try {
        await this.#store.sandboxes.note(sandbox, 'caisson.sandbox.secret-used', data);
      } catch {
        told = false;
        this.#secrets.putBack(use);
      }
    }
    return told;
  }

  async #prune(rows: readonly NewEgressRow[]): Promise<void> {
    // By chance, for each row alike: so nobody who writes few at a time is never looked at.
    const looked = new Set(rows.filter(() => Math.random() * lookEvery < 1).map(({ sandbox }) => sandbox));
    for (const sandbox of looked) {
      // What cannot be removed now is found the next time.
      await this.#store.egressLog.prune(sandbox, keptRows).catch(() => {});
    }
  }

  #subscribe(sandbox: string, wake: () => void): () => void {
    const readers = this.#readers.get(sandbox) ?? new Set();
    this.#readers.set(sandbox, readers.add(wake));
    return () => {
      readers.delete(wake);
      if (readers.size === 0) this.#readers.delete(sandbox);
    };
  }
}
