import type { Id, Sandbox } from '@caisson/contract';
import type { DueLease, LeaseStore } from '../store/leases.ts';
import { RetryPauses } from './retry-pauses.ts';
import { type Clocks, machineClocks, WallClock } from './wall-clock.ts';

/** What has to be ended: its lease at its time, or because nobody used it. */
export interface EndingLease extends DueLease {
  readonly why: 'expired' | 'idle';
}

export interface LeaseParts {
  readonly store: LeaseStore;
  /** Ends it as its terms say. Rejects when that failed; then it is tried again after a pause. */
  end(lease: EndingLease): Promise<unknown>;
  /** How long nobody has used it, as far as this server knows; 0 while somebody does. */
  idleMs(id: Id<'sandbox'>): number;
  failed?(lease: EndingLease, error: unknown): void;
  /** It is as its terms say, so long after its time. */
  ended?(lease: EndingLease, lateMs: number): void;
  readonly clocks?: Clocks;
}

/** Read at a time. Larger pages hold up requests, smaller ones cost a query for few. */
const pageSize = 200;
/** Ended at a time: more would only wait for each other, and for the requests of those who are here. */
const maxEnding = 32;
const endTimes = [
  ['expires_at', 'expired'],
  ['idle_at', 'idle'],
] as const;
/** A clock that was set is noticed within this, at no cost but a comparison. */
const lookEveryMs = 1_000;

/**
 * Keeps the times of all leases: one timer for the earliest, however many there are.
 *
 * Laws
 * - What is due is read from the store; nothing of a lease is kept in memory. So a restart loses nothing, and a lease that
 *   was moved meanwhile is where the store says.
 * - The clock on the wall counts for ends and warnings, whichever way it was set. Idle time is counted by the clock that
 *   only runs.
 * - Those that cannot be ended are tried again after a pause that doubles, and hold up nobody else.
 */
export class LeaseKeeper {
  readonly #parts: LeaseParts;
  readonly #clocks: Clocks;
  readonly #clock: WallClock;
  readonly #ending = new Map<Id<'sandbox'>, Promise<void>>();
  /** Due, and read; each is compared with the store once more when its turn comes. */
  readonly #waiting: EndingLease[] = [];
  readonly #pauses = new RetryPauses<Id<'sandbox'>>();
  /** By the clock on the wall; what is due after it is not known yet. */
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  #isOpen = false;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    this.#clocks = parts.clocks ?? machineClocks;
    this.#clock = new WallClock(this.#clocks);
  }

  open(): void {
    this.#isOpen = true;
    this.#tick();
  }

  /** Nothing begins any more; resolves when nothing of it runs. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#waiting.length = 0;
    clearTimeout(this.#timer);
    await this.#looking?.catch(() => {});
  }

  /** A lease is new or was moved: it may be the earliest now. */
  changed({ id, expiresAt, lease }: Pick<Sandbox, 'id' | 'expiresAt' | 'lease'>): void {
    this.#pauses.forget(id);
    const now = this.#clock.now();
    const end = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - (lease.warnSeconds ?? 0) * 1000;
    const idle = lease.idleSeconds === null ? Number.POSITIVE_INFINITY : now + lease.idleSeconds * 1000;
    const at = Math.min(end, idle);
    if (at >= this.#nextAt) return;
    this.#nextAt = at;
    if (this.#isOpen) this.#arm();
  }

  /** Does everything that is due, or begins it. One look at a time; whoever asks meanwhile gets one after it. */
  async look(): Promise<void> {
    if (this.#looking) {
      this.#again = true;
      return this.#looking;
    }
    this.#looking = this.#lookAll().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Ends one at once, whatever pause it is in. */
  endNow(lease: EndingLease): Promise<void> {
    this.#pauses.forget(lease.sandbox.id);
    return this.#begin(lease);
  }

  async #lookAll(): Promise<void> {
    do {
      this.#again = false;
      const jumped = this.#clock.jump();
      if (jumped !== 0) await this.#parts.store.shiftIdle(jumped);
      const now = this.#clock.now();
      this.#nextAt = Number.POSITIVE_INFINITY;
      await this.#warn(now);
      const isMore = await this.#endDue(now);
      const next = isMore ? now : await this.#parts.store.next(now);
      // A lease that changed while this was read has said so itself.
      this.#nextAt = Math.min(this.#nextAt, next ?? Number.POSITIVE_INFINITY);
    } while (this.#again);
  }

  async #warn(now: number): Promise<void> {
    for (;;) {
      const due = await this.#parts.store.due('warn_at', now, pageSize);
      for (const lease of due) await this.#parts.store.warn(lease, now);
      if (due.length < pageSize) return;
    }
  }

  /** Reads what is due where nothing waits to be ended any more. Answers whether there may be more. */
  async #endDue(now: number): Promise<boolean> {
    if (this.#waiting.length > 0) return true;
    const standing = new Set<Id<'sandbox'>>();
    // Those that are at work or wait for another try are among the earliest: so many more are read.
    const limit = pageSize + this.#ending.size + this.#pauses.size;
    const steady = this.#clocks.steady();
    let isMore = false;
    for (const [time, why] of endTimes) {
      const due = await this.#parts.store.due(time, now, limit);
      isMore ||= due.length === limit;
      for (const { sandbox, at } of due) {
        const isNew = !standing.has(sandbox.id) && !this.#ending.has(sandbox.id);
        standing.add(sandbox.id);
        if (!isNew || this.#pauses.isPaused(sandbox.id, steady)) continue;
        if (why === 'idle' && (await this.#isInUse(sandbox, at, now))) continue;
        this.#waiting.push({ sandbox, at, why });
      }
    }
    if (!isMore) this.#pauses.keepOnly(standing);
    this.#beginWaiting();
    return isMore;
  }

  #beginWaiting(): void {
    while (this.#ending.size < maxEnding) {
      const lease = this.#waiting.shift();
      if (!lease) return;
      void this.#begin(lease).catch(() => {});
    }
  }

  /** Then it is looked at again when it may be idle. */
  async #isInUse({ id, lease }: Sandbox, at: number, now: number): Promise<boolean> {
    const leftMs = Math.ceil((lease.idleSeconds ?? 0) * 1000 - this.#parts.idleMs(id));
    if (leftMs <= 0) return false;
    await this.#parts.store.idleUntil(id, at, now + leftMs);
    return true;
  }

  #begin(lease: EndingLease): Promise<void> {
    const { id } = lease.sandbox;
    const present = this.#ending.get(id);
    if (present) return present;
    const ending = this.#parts
      .end(lease)
      .then(
        () => {
          this.#pauses.forget(id);
          this.#parts.ended?.(lease, this.#clock.now() - lease.at);
        },
        (error: unknown) => {
          this.#pauses.failed(id, this.#clocks.steady());
          this.#parts.failed?.(lease, error);
          throw error;
        },
      )
      .finally(() => {
        this.#ending.delete(id);
        if (this.#isOpen) this.#beginWaiting();
        if (this.#waiting.length === 0 && this.#nextAt <= this.#clock.now()) this.#arm();
      });
    this.#ending.set(id, ending);
    return ending;
  }

  #tick(): void {
    if (!this.#isOpen) return;
    const isDue = this.#nextAt <= this.#clock.now() || this.#pauses.nextIn(this.#clocks.steady()) === 0;
    const looked = isDue && this.#waiting.length === 0 ? this.look() : Promise.resolve();
    // A database that is away now is asked again at the next tick.
    looked.catch(() => this.#delay()).finally(() => this.#arm());
  }

  #delay(): void {
    this.#nextAt = this.#clock.now() + lookEveryMs;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (!this.#isOpen) return;
    const ms = this.#waiting.length > 0 ? lookEveryMs : this.#nextAt - this.#clock.now();
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, Math.min(lookEveryMs, ms))).unref();
  }
}
