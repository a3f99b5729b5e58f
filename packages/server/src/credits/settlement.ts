import type { Id } from '@caisson/contract';
import { costAhead } from '@caisson/contract';
import type { Store } from '../store/store.ts';

/** How often what was used is charged. A change of state charges at once. */
const chargeEveryMs = 900_000;
/** How often it is looked for what is due; who is low is read each time. */
const lookEveryMs = 60_000;
const pageSize = 200;

export interface SettlementParts {
  readonly store: Store;
  /** Nothing is left for it: it must stop. */
  exhausted(sandbox: Id<'sandbox'>): Promise<void>;
  /** What went wrong where nobody waits for it. */
  warn(error: unknown, what: string): void;
}

/**
 * Charges sandboxes for what they used, while they live. One that nothing more can be set aside for is told so once, and
 * stopped before what is held for it is used up.
 */
export class Settlement {
  readonly #parts: SettlementParts;
  #timer: NodeJS.Timeout | undefined;
  #passing: Promise<unknown> = Promise.resolve();

  constructor(parts: SettlementParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#passing = this.pass().catch((error) => this.#parts.warn(error, 'credits could not be settled'));
    }, lookEveryMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#passing;
  }

  /** One look at everything that is due. Answers how many were charged. */
  async pass(now: number = Date.now()): Promise<number> {
    const { credits } = this.#parts.store;
    let charged = 0;
    let after = '';
    for (;;) {
      const due = await credits.due(now - chargeEveryMs, pageSize, after);
      for (const sandbox of due) {
        // One that cannot be charged now does not keep the others from it.
        await this.#settle(sandbox, now).catch((error) => this.#parts.warn(error, `${sandbox} could not be charged`));
        charged += 1;
        after = sandbox;
      }
      if (due.length < pageSize) return charged;
    }
  }

  /** Everything of one tenant, now: from here on it costs something else. */
  async tenant(tenant: string, now: number = Date.now()): Promise<void> {
    for (const sandbox of await this.#parts.store.credits.running(tenant)) await this.#settle(sandbox, now);
  }

  async #settle(sandbox: Id<'sandbox'>, now: number): Promise<void> {
    const { store, exhausted } = this.#parts;
    const reading = await store.credits.settle(sandbox, now);
    if (!reading?.isLow) return;
    const { held: heldMicros, perHour: perHourMicros } = reading;
    if (reading.becameLow)
      await store.sandboxes.note(sandbox, 'caisson.sandbox.credits-low', { heldMicros, perHourMicros });
    // Enough must be left until the next look.
    if (heldMicros < costAhead(perHourMicros, lookEveryMs)) await exhausted(sandbox);
  }
}
