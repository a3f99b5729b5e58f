import type { Backend, RejectionCode, RouteDecision } from '@caisson/contract';
import { backendName } from './candidate.ts';

/** What a decision came to for one backend: it was chosen, it could have served, or why it could not. */
export type RouteOutcome = 'chosen' | 'passed' | RejectionCode;

export interface CountedBackend extends Backend {
  readonly decisions: ReadonlyMap<RouteOutcome, number>;
  readonly launches: { readonly succeeded: number; readonly failed: number };
  /** How often the next one was tried after it. */
  readonly failovers: number;
}

interface Counts extends Backend {
  readonly decisions: Map<RouteOutcome, number>;
  readonly launches: { succeeded: number; failed: number };
  failovers: number;
}

/** How often what became of each backend, since the start. There are as many as are installed, so it stays small. */
export class RouteCounts {
  readonly #counts = new Map<string, Counts>();
  #unserved = 0;

  /** Decisions that no backend could serve. */
  get unserved(): number {
    return this.#unserved;
  }

  decided({ chosen, candidates }: RouteDecision): void {
    if (!chosen) this.#unserved += 1;
    for (const candidate of candidates) {
      const isChosen = chosen?.driver === candidate.driver && chosen.host === candidate.host;
      const outcome = isChosen ? 'chosen' : (candidate.rejections[0]?.code ?? 'passed');
      const { decisions } = this.#of(candidate);
      decisions.set(outcome, (decisions.get(outcome) ?? 0) + 1);
    }
  }

  launched(backend: Backend): void {
    this.#of(backend).launches.succeeded += 1;
  }

  failed(backend: Backend): void {
    this.#of(backend).launches.failed += 1;
  }

  movedOn(from: Backend): void {
    this.#of(from).failovers += 1;
  }

  list(): readonly CountedBackend[] {
    return [...this.#counts.values()];
  }

  #of({ driver, host }: Backend): Counts {
    const name = backendName({ driver, host });
    const counts = this.#counts.get(name) ?? {
      driver,
      host,
      decisions: new Map<RouteOutcome, number>(),
      launches: { succeeded: 0, failed: 0 },
      failovers: 0,
    };
    this.#counts.set(name, counts);
    return counts;
  }
}
