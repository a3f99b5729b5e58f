import { CaissonError } from '@caisson/contract';
import type { Driver, Probe } from '../drivers/driver.ts';
import { withDeadline } from './deadline.ts';

/** What is installed changes by hand; trying a runtime out takes seconds. */
const keptMs = 60_000;
/** Trying a runtime that emulates a kernel takes seconds on a busy machine. */
const probeMs = 20_000;

export interface ProbedDriver {
  readonly driver: Driver;
  readonly probe: Probe;
}

/** Whether each driver can be used, as of a minute ago at most. Those who ask at once share one look. */
export class DriverProbes {
  readonly #drivers: readonly Driver[];
  #seen: { readonly at: number; readonly found: Promise<ProbedDriver[]> } | undefined;

  constructor(drivers: readonly Driver[]) {
    this.#drivers = drivers;
  }

  all(): Promise<ProbedDriver[]> {
    const now = performance.now();
    if (this.#seen === undefined || now - this.#seen.at > keptMs)
      this.#seen = { at: now, found: Promise.all(this.#drivers.map(probed)) };
    return this.#seen.found;
  }
}

async function probed(driver: Driver): Promise<ProbedDriver> {
  const never = new AbortController().signal;
  const probe = await withDeadline('probing', probeMs, never, (signal) => driver.probe(signal)).catch(
    (error: unknown): Probe => ({
      usable: false,
      why: error instanceof CaissonError ? error.message : 'it could not be looked at',
      fix: '`caisson doctor` looks again.',
    }),
  );
  return { driver, probe };
}
