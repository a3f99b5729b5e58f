import { Gauge, type Registry } from 'prom-client';

/** What is known of one backend; counts are since the start. */
export interface BackendNumbers {
  readonly driver: string;
  readonly host: string;
  readonly circuit: 'closed' | 'half-open' | 'open';
  readonly decisions: Iterable<readonly [outcome: string, count: number]>;
  readonly launches: { readonly succeeded: number; readonly failed: number };
  readonly failovers: number;
}

export interface RouteNumbers {
  readonly unserved: number;
  readonly backends: readonly BackendNumbers[];
}

const circuits = ['closed', 'half-open', 'open'] as const;

/** How routes were decided and how backends do. */
export function addRouteMetrics(registers: Registry[], read: () => RouteNumbers): void {
  const perBackend = <L extends string>(
    name: string,
    help: string,
    label: L | undefined,
    values: (one: BackendNumbers) => Iterable<readonly [string, number]>,
  ) =>
    new Gauge<string>({
      name,
      help,
      labelNames: ['driver', 'host', ...(label === undefined ? [] : [label])],
      registers,
      collect() {
        this.reset();
        for (const one of read().backends) {
          const { driver, host } = one;
          for (const [value, count] of values(one))
            this.set({ driver, host, ...(label === undefined ? {} : { [label]: value }) }, count);
        }
      },
    });
  perBackend(
    'caisson_route_decisions',
    'Routes decided, by backend: chosen, passed over, or the code of why it could not serve.',
    'outcome',
    ({ decisions }) => decisions,
  );
  perBackend('caisson_backend_launches', 'Launches, by backend and how they ended.', 'outcome', ({ launches }) =>
    Object.entries(launches),
  );
  perBackend(
    'caisson_route_failovers',
    'Launches that failed on the backend, after which the next was tried.',
    undefined,
    ({ failovers }) => [['', failovers]],
  );
  perBackend(
    'caisson_backend_circuit',
    'One at how its circuit is: closed serves, open is left alone, half-open is tried out.',
    'state',
    ({ circuit }) => circuits.map((state) => [state, state === circuit ? 1 : 0] as const),
  );
  new Gauge({
    name: 'caisson_routes_unserved',
    help: 'Requests that no backend could serve.',
    registers,
    collect() {
      this.set(read().unserved);
    },
  });
}
