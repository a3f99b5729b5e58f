/** The clock on the wall, which people and time servers set, and one that only runs. */
export interface Clocks {
  wall(): number;
  steady(): number;
}

export const machineClocks: Clocks = { wall: () => Date.now(), steady: () => performance.now() };

/** Time servers correct a clock by less than this at a time; whoever sets it by hand sets it by more. */
const jumpMs = 1_000;

/** Notices when the clock on the wall was set, by how far it runs away from the other one. */
export class WallClock {
  readonly #clocks: Clocks;
  #apart: number;

  constructor(clocks: Clocks = machineClocks) {
    this.#clocks = clocks;
    this.#apart = clocks.wall() - clocks.steady();
  }

  now(): number {
    return this.#clocks.wall();
  }

  /** By how much it was set since the last call; 0 when it was not. */
  jump(): number {
    const apart = this.#clocks.wall() - this.#clocks.steady();
    const by = Math.round(apart - this.#apart);
    if (Math.abs(by) < jumpMs) return 0;
    this.#apart = apart;
    return by;
  }
}
