import { type ActorType, type AuditEntry, newId } from '@caisson/contract';
import type { AuditFilter, NewAuditRow } from '../store/audit.ts';
import type { Store } from '../store/store.ts';
import { type Caller, isOperator, tenantOf } from '../tenancy/caller.ts';
import type { Spool } from './spool.ts';
import { Strangers } from './strangers.ts';

/** How long a line waits for others. Longer writes less often; who reads the log does not wait for it. */
const everyMs = 500;
/** Lines of strangers are folded for so long. */
const strangersMs = 1_000;
const retryMs = 1_000;
/** What may wait in memory when the store is away; the files keep what has no room. */
const maxWaiting = 50_000;
const maxAgent = 200;
const maxSubject = 200;
const maxDetail = 500;

/** Something that was done or refused. */
export interface Deed {
  readonly action: string;
  readonly subject?: string | null | undefined;
  readonly address?: string | null | undefined;
  readonly agent?: string | undefined;
  readonly status?: number;
  readonly code?: string | null | undefined;
  readonly request?: string | undefined;
  readonly detail?: string | undefined;
}

/**
 * Writes the audit log. A line is in a file before the request is answered, so that a server that is killed loses none
 * that was acknowledged, and in the store a moment later, in a batch.
 */
export class Audit {
  readonly #store: Pick<Store, 'audit'>;
  readonly #spool: Spool;
  readonly #maxWaiting: number;
  readonly #strangers = new Strangers();
  #waiting: NewAuditRow[] = [];
  /** What is being written, or could not be, and how to forget its lines in the file. */
  #batch: { readonly rows: readonly NewAuditRow[]; readonly drop: () => void } | undefined;
  #writing: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #strangersTimer: NodeJS.Timeout | undefined;
  /** Lines that had no room in memory are in the files alone. */
  #hasMoreInFile = false;
  #closed = false;
  #written = 0;
  #failures = 0;

  constructor(store: Pick<Store, 'audit'>, spool: Spool, waiting = maxWaiting) {
    this.#store = store;
    this.#spool = spool;
    this.#maxWaiting = waiting;
  }

  /** Writes what an earlier server left. */
  async open(): Promise<void> {
    const left = this.#spool.left();
    if (left.length > 0) await this.#store.audit.insert(left);
    this.#spool.clear();
  }

  /** What waits for the store, what it took since the start, and how often it did not. */
  get numbers(): { readonly waiting: number; readonly written: number; readonly failures: number } {
    const waiting = this.#waiting.length + (this.#batch?.rows.length ?? 0);
    return { waiting, written: this.#written, failures: this.#failures };
  }

  /** Done or refused by somebody we know. */
  did(caller: Caller, deed: Deed): void {
    const { tenant, project, principal } = caller.owner;
    const actor: ActorType = caller.actor ?? 'person';
    this.#add({ ...rowOf(deed), actor, tenant, project, principal, key: caller.key });
  }

  /** Done by the server itself. */
  server(deed: Deed, tenant: string | null = null): void {
    this.#add({ ...rowOf(deed), actor: 'server', tenant, project: null, principal: null, key: null });
  }

  /** Refused to somebody we do not know. */
  refused(deed: Deed): void {
    if (this.#closed) return;
    this.#strangers.add({ ...rowOf(deed), actor: 'stranger', tenant: null, project: null, principal: null, key: null });
    this.#strangersTimer ??= setTimeout(() => this.#takeStrangers(), strangersMs).unref();
  }

  /** Of the caller's tenant; of any or all for the operator. Everything that was done by now is in it. */
  async list(caller: Caller, filter: AuditFilter): Promise<AuditEntry[]> {
    this.#takeStrangers();
    await this.flush();
    const everything = filter.tenant === undefined && isOperator(caller);
    return this.#store.audit.list({ ...filter, tenant: everything ? undefined : tenantOf(caller, filter.tenant) });
  }

  /** Removes what is older; nothing without a number. */
  async keepDays(days: number | undefined): Promise<void> {
    if (days === undefined) return;
    await this.#store.audit.keepSince(Date.now() - days * 86_400_000);
    this.server({ action: 'audit.prune', detail: `kept for ${days} days` });
  }

  /** False when the store did not take it; then it is tried again. */
  async flush(): Promise<boolean> {
    // What runs has begun before, and may lack what has come since.
    await this.#writing;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async close(): Promise<void> {
    this.#takeStrangers();
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#strangersTimer);
    // What cannot be written now is in the files.
    for (let tries = 0; tries < 2 && (this.#waiting.length > 0 || this.#batch); tries += 1) await this.flush();
    this.#spool.close();
  }

  #add(row: NewAuditRow): void {
    if (this.#closed) return;
    try {
      this.#spool.add(row);
    } catch {
      // The disk is full: what was done is done, and its line waits in memory alone.
    }
    if (this.#waiting.length < this.#maxWaiting) this.#waiting.push(row);
    else this.#hasMoreInFile = true;
    this.#later(everyMs);
  }

  #takeStrangers(): void {
    clearTimeout(this.#strangersTimer);
    this.#strangersTimer = undefined;
    if (this.#strangers.isEmpty) return;
    this.#waiting.push(...this.#strangers.take());
    this.#later(everyMs);
  }

  #later(ms: number): void {
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.flush().then((written) => {
        if (!written || this.#waiting.length > 0) this.#later(written ? everyMs : retryMs);
      });
    }, ms).unref();
  }

  /** Never throws: what fails is kept for the next time. */
  async #write(): Promise<boolean> {
    if (this.#batch === undefined) {
      if (this.#waiting.length === 0) return true;
      this.#batch = { rows: this.#waiting, drop: this.#spool.turn() };
      this.#waiting = [];
    }
    const { rows, drop } = this.#batch;
    try {
      await this.#store.audit.insert(rows);
      if (this.#hasMoreInFile) await this.#store.audit.insert(this.#spool.left());
      this.#hasMoreInFile = false;
      drop();
    } catch {
      this.#failures += 1;
      return false;
    }
    this.#written += rows.length;
    this.#batch = undefined;
    return true;
  }
}

function rowOf(deed: Deed): Omit<NewAuditRow, 'actor' | 'tenant' | 'project' | 'principal' | 'key'> {
  const time = Date.now();
  return {
    id: newId('audit', time),
    time,
    action: deed.action,
    subject: bounded(deed.subject, maxSubject),
    address: deed.address ?? null,
    agent: bounded(deed.agent, maxAgent),
    status: deed.status ?? null,
    code: deed.code ?? null,
    request: deed.request ?? null,
    detail: bounded(deed.detail, maxDetail),
    count: 1,
  };
}

/** Printable ASCII and no more of it than that: what a client says about itself ends up on screens. */
function bounded(text: string | null | undefined, max: number): string | null {
  if (text === undefined || text === null || text === '') return null;
  return text.slice(0, max).replace(/[^\x20-\x7e]/g, '?');
}
