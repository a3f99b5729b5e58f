import type { Backend } from '@caisson/contract';
import { isBackendFault } from './backend-fault.ts';
import {
  afterBegin,
  afterFailure,
  afterNothing,
  type Breaker,
  type BreakerState,
  breakerState,
  closedBreaker,
} from './breaker.ts';
import { backendName } from './candidate.ts';
import { knownMs, type LatencyMean, withSample } from './latency.ts';
import { RouteCounts } from './route-counts.ts';

/** What was measured of one backend, for the next server. */
export interface MeasuredBackend extends Backend {
  readonly mean: LatencyMean;
}

interface Known {
  readonly backend: Backend;
  mean: LatencyMean | undefined;
  /** By tenant; those who have none failed never, or succeeded since. */
  readonly breakers: Map<string, Breaker>;
  provenAt: number;
}

/** One tenant's failures may be its own: of an image, of a limit. Those of two are the backend's. */
const enoughTenants = 2;
/** Whoever has failed longest ago is forgotten first: it costs them a few tries more. */
const maxTenants = 1_000;

/**
 * How each backend does: how long its launches take, and whether it can be trusted at the moment.
 *
 * Law: what one tenant's launches come to keeps nobody else away. A backend is left alone by a tenant whose own launches
 * failed, and by everybody when those of several tenants did and nobody's succeeded since.
 */
export class BackendHealth {
  readonly counts = new RouteCounts();
  readonly #known = new Map<string, Known>();
  readonly #changed = new Set<string>();

  constructor(measured: readonly MeasuredBackend[] = []) {
    for (const { mean, driver, host } of measured) this.#of({ driver, host }).mean = mean;
  }

  latencyMs(backend: Backend, now = Date.now()): number | null {
    return knownMs(this.#known.get(backendName(backend))?.mean, now);
  }

  /** The worst that any tenant has of it. */
  state(backend: Backend, now = Date.now()): BreakerState {
    const breakers = this.#known.get(backendName(backend))?.breakers.values() ?? [];
    const states = new Set([...breakers].map((breaker) => breakerState(breaker, now)));
    return states.has('open') ? 'open' : states.has('half-open') ? 'half-open' : 'closed';
  }

  /** Why a tenant leaves it alone, or undefined when it may be used. */
  whyResting(backend: Backend, tenant: string, now = Date.now()): string | undefined {
    const known = this.#known.get(backendName(backend));
    if (!known || known.breakers.size === 0) return undefined;
    const own = known.breakers.get(tenant);
    if (own && breakerState(own, now) === 'open') return restText(own, now);
    const isOfAll = ({ openUntil, pauseMs }: Breaker) => openUntil - pauseMs >= known.provenAt;
    const open = [...known.breakers.values()].filter((one) => breakerState(one, now) === 'open' && isOfAll(one));
    const [latest] = open.sort((a, b) => b.openUntil - a.openUntil);
    return latest && open.length >= enoughTenants ? restText(latest, now) : undefined;
  }

  began(backend: Backend, tenant: string, now = Date.now()): void {
    const { breakers } = this.#of(backend);
    const breaker = breakers.get(tenant);
    if (breaker) breakers.set(tenant, afterBegin(breaker, now));
  }

  launched(backend: Backend, tenant: string, ms: number, now = Date.now()): void {
    const known = this.#of(backend);
    this.counts.launched(backend);
    known.breakers.delete(tenant);
    known.provenAt = now;
    known.mean = withSample(known.mean, ms, now);
    this.#changed.add(backendName(backend));
  }

  failed(backend: Backend, tenant: string, error: unknown, now = Date.now()): void {
    this.counts.failed(backend);
    const { breakers } = this.#of(backend);
    const breaker = breakers.get(tenant) ?? closedBreaker;
    breakers.delete(tenant);
    const next = isBackendFault(error) ? afterFailure(breaker, now) : afterNothing(breaker);
    if (next.failures > 0) breakers.set(tenant, next);
    const [oldest] = breakers.keys();
    if (breakers.size > maxTenants && oldest !== undefined) breakers.delete(oldest);
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
    const known = this.#known.get(name) ?? {
      backend: { driver, host },
      mean: undefined,
      breakers: new Map(),
      provenAt: 0,
    };
    this.#known.set(name, known);
    return known;
  }
}

function restText({ failures, openUntil }: Breaker, now: number): string {
  if (now >= openUntil) return `its last ${failures} launches failed, and one is trying it out`;
  const seconds = Math.ceil((openUntil - now) / 1000);
  return `its last ${failures} launches failed; it is left alone for ${seconds} s more`;
}
