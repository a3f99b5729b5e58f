import type { Backend, CaissonError } from '@caisson/contract';
import { isBackendFault } from './backend-fault.ts';
import {
  afterBegin,
  afterFailure,
  afterNothing,
  afterSuccess,
  type Breaker,
  type BreakerState,
  breakerState,
  closedBreaker,
} from './breaker.ts';
import { backendName } from './candidate.ts';
import { knownMs, type LatencyMean, withSample } from './latency.ts';

/** What was measured of one backend, for the next server. */
export interface MeasuredBackend extends Backend {
  readonly mean: LatencyMean;
}

interface Known {
  readonly backend: Backend;
  mean: LatencyMean | undefined;
  breaker: Breaker;
}

/** How each backend does: how long its launches take, and whether it can be trusted at the moment. */
export class BackendHealth {
  readonly #known = new Map<string, Known>();
  readonly #changed = new Set<string>();

  constructor(measured: readonly MeasuredBackend[] = []) {
    for (const { mean, driver, host } of measured) this.#of({ driver, host }).mean = mean;
  }

  latencyMs(backend: Backend, now = Date.now()): number | null {
    return knownMs(this.#known.get(backendName(backend))?.mean, now);
  }

  state(backend: Backend, now = Date.now()): BreakerState {
    return breakerState(this.#known.get(backendName(backend))?.breaker ?? closedBreaker, now);
  }

  /** Why it is left alone, or undefined when it may be used. */
  whyResting(backend: Backend, now = Date.now()): string | undefined {
    const breaker = this.#known.get(backendName(backend))?.breaker ?? closedBreaker;
    if (breakerState(breaker, now) !== 'open') return undefined;
    if (now >= breaker.openUntil) return `its last ${breaker.failures} launches failed, and one is trying it out`;
    const seconds = Math.ceil((breaker.openUntil - now) / 1000);
    return `its last ${breaker.failures} launches failed; it is left alone for ${seconds} s more`;
  }

  began(backend: Backend, now = Date.now()): void {
    const known = this.#of(backend);
    known.breaker = afterBegin(known.breaker, now);
  }

  launched(backend: Backend, ms: number, now = Date.now()): void {
    const known = this.#of(backend);
    known.breaker = afterSuccess();
    known.mean = withSample(known.mean, ms, now);
    this.#changed.add(backendName(backend));
  }

  failed(backend: Backend, error: CaissonError | unknown, now = Date.now()): void {
    const known = this.#of(backend);
    known.breaker = isBackendFault(error) ? afterFailure(known.breaker, now) : afterNothing(known.breaker);
  }

  /** What was measured since this was last asked. */
  takeChanged(): MeasuredBackend[] {
    const names = [...this.#changed];
    this.#changed.clear();
    return names.flatMap((name) => {
      const known = this.#known.get(name);
      return known?.mean ? [{ ...known.backend, mean: known.mean }] : [];
    });
  }

  #of({ driver, host }: Backend): Known {
    const name = backendName({ driver, host });
    const known = this.#known.get(name) ?? { backend: { driver, host }, mean: undefined, breaker: closedBreaker };
    this.#known.set(name, known);
    return known;
  }
}
