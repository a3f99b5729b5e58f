import type { PoolBounds } from '../../store/pools.ts';

/** Long enough to carry a pool from one burst to the next, short enough that nobody pays for yesterday's. */
const halfLifeMs = 60_000;

/** How many members were asked for lately, found or not. Each counts one, and half as much a minute later. */
export class PoolDemand {
  #value = 0;
  #at = 0;

  add(now: number): void {
    this.#value = this.at(now) + 1;
    this.#at = now;
  }

  at(now: number): number {
    return this.#value * 0.5 ** (Math.max(0, now - this.#at) / halfLifeMs);
  }
}

/** The rule of size: as many as were asked for in the last minute or so, within the bounds. */
export function wantedSize({ min, max }: PoolBounds, demand: number): number {
  return Math.min(max, Math.max(min, Math.round(demand)));
}
