import type { Id } from '@caisson/contract';

/** How many tools run in each sandbox just now. */
export class InFlight {
  readonly #running = new Map<Id<'sandbox'>, number>();

  count(id: Id<'sandbox'>): number {
    return this.#running.get(id) ?? 0;
  }
}
