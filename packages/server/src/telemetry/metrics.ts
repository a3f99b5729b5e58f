import { actionNames, type CaissonEvent, type Health, healthStates } from '@caisson/contract';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { addRouteMetrics, type RouteNumbers } from './route-metrics.ts';
import { ServiceMetrics, type ServiceSources } from './service-metrics.ts';
import type { Span } from './spans.ts';

/** Where numbers come from that are asked for only when somebody looks. */
export interface MetricSources {
  sandboxesByState(): Promise<Record<string, number>>;
  jobsByState(): Promise<Record<string, number>>;
  operations(): number;
  /** Bytes and state of where root filesystems lie; nothing where there is no such place. */
  storage(): Promise<StorageNumbers | undefined>;
  pools(): readonly PoolNumbers[];
  /** Guests that are linked, connections that sandboxes have open to the outside. */
  links(): { readonly guests: number; readonly connections: number };
  /** Since the start, of all sandboxes together. */
  egress(): EgressNumbers;
  droppedSpans(): number;
  routes(): RouteNumbers;
  readonly service: ServiceSources;
}

export interface EgressNumbers {
  readonly allowed: number;
  readonly refused: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface StorageNumbers {
  readonly state: 'ok' | 'warn' | 'critical';
  readonly totalBytes: number;
  readonly freeBytes: number;
}

export interface PoolNumbers {
  readonly profile: string;
  readonly ready: number;
  readonly making: number;
  readonly taken: number;
  readonly misses: number;
}

/** From half a millisecond, where a read answers, to a minute, where a launch is given up. */
const durationBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Those of sandboxes, and their parts. */
const phases = new Set<string>([
  ...actionNames,
  'build',
  'build.job',
  'build.room',
  'prepare',
  'launch',
  'furnish',
  'self-check',
  'snapshot',
  'reconcile',
  'guest.exec',
  'guest.step',
]);

export class Metrics {
  readonly service: ServiceMetrics;
  readonly #registry = new Registry();
  readonly #requests: Histogram<'route' | 'status'>;
  readonly #repairs: Counter<'kind' | 'did'>;
  readonly #phases: Histogram<'phase' | 'driver' | 'outcome'>;
  readonly #failures: Counter<'phase' | 'code'>;
  readonly #events: Counter<'type'>;
  readonly #health: Gauge<'check'>;

  constructor(sources: MetricSources) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry, prefix: 'caisson_' });
    this.#requests = new Histogram({
      name: 'caisson_http_request_duration_seconds',
      help: 'Time to answer, by route and status.',
      labelNames: ['route', 'status'],
      buckets: durationBuckets,
      registers,
    });
    this.#repairs = new Counter({
      name: 'caisson_repairs_total',
      help: 'What the reconciler found, and what it did.',
      labelNames: ['kind', 'did'],
      registers,
    });
    this.#phases = new Histogram({
      name: 'caisson_phase_duration_seconds',
      help: 'What actions of sandboxes and their parts take: create, prepare, launch, snapshot, reconcile and so on.',
      labelNames: ['phase', 'driver', 'outcome'],
      buckets: durationBuckets,
      registers,
    });
    this.#failures = new Counter({
      name: 'caisson_phase_failures_total',
      help: 'What failed, by the code of its error.',
      labelNames: ['phase', 'code'],
      registers,
    });
    this.#events = new Counter({
      name: 'caisson_events_total',
      help: 'Events by type.',
      labelNames: ['type'],
      registers,
    });
    this.#health = new Gauge({
      name: 'caisson_health',
      help: 'How each thing does that health looks at: 0 ok, 1 degraded, 2 critical.',
      labelNames: ['check'],
      registers,
    });
    told('caisson_guests', 'Guests that are linked.', registers, () => sources.links().guests);
    told(
      'caisson_egress_connections',
      'Connections that sandboxes have open to the outside.',
      registers,
      () => sources.links().connections,
    );
    counted('caisson_egress_decisions', 'Decisions on the way out since the start.', 'verdict', registers, async () => {
      const { allowed, refused } = sources.egress();
      return { allowed, refused };
    });
    counted('caisson_egress_bytes', 'Bytes to and from the outside since the start.', 'way', registers, async () => {
      const { sentBytes, receivedBytes } = sources.egress();
      return { sent: sentBytes, received: receivedBytes };
    });
    told('caisson_spans_dropped', 'Spans that no collector took.', registers, () => sources.droppedSpans());
    counted('caisson_sandboxes', 'Sandboxes by state.', 'state', registers, () => sources.sandboxesByState());
    counted('caisson_jobs', 'Jobs by state.', 'state', registers, () => sources.jobsByState());
    counted(
      'caisson_storage_bytes',
      'Where root filesystems lie: its size and what is free.',
      'kind',
      registers,
      async () => {
        const storage = await sources.storage();
        return storage ? { total: storage.totalBytes, free: storage.freeBytes } : ({} as Record<string, number>);
      },
    );
    counted(
      'caisson_storage_state',
      'One at how it is: ok, warn (degraded) or critical.',
      'state',
      registers,
      async () => {
        const storage = await sources.storage();
        return storage ? { ok: 0, warn: 0, critical: 0, [storage.state]: 1 } : ({} as Record<string, number>);
      },
    );
    new Gauge({
      name: 'caisson_pool_members',
      help: 'Members of warm pools, by profile and state.',
      labelNames: ['profile', 'state'],
      registers,
      collect() {
        this.reset();
        for (const pool of sources.pools())
          for (const state of ['ready', 'making'] as const) this.set({ profile: pool.profile, state }, pool[state]);
      },
    });
    new Gauge({
      name: 'caisson_pool_creates',
      help: 'Creates that were given a member of a warm pool, and those that found none, since the start.',
      labelNames: ['profile', 'result'],
      registers,
      collect() {
        this.reset();
        for (const pool of sources.pools())
          for (const result of ['taken', 'misses'] as const) this.set({ profile: pool.profile, result }, pool[result]);
      },
    });
    told('caisson_operations', 'Actions that run at the moment.', registers, () => sources.operations());
    addRouteMetrics(registers, () => sources.routes());
    this.service = new ServiceMetrics(registers, sources.service);
  }

  request(route: string, status: number, seconds: number): void {
    this.#requests.observe({ route, status }, seconds);
  }

  /** What a client waits for inside a sandbox is its own affair, and there is too much of it to name. */
  span({ name, attributes, seconds, failed }: Span): void {
    if (!phases.has(name)) return;
    const driver = String(attributes.driver ?? '');
    this.#phases.observe({ phase: name, driver, outcome: failed === undefined ? 'ok' : 'failed' }, seconds);
    if (failed !== undefined) this.#failures.inc({ phase: name, code: failed });
  }

  /** Repairs are events, whoever did them: a pass, a look at one instance, an operator. */
  event({ type, data }: Pick<CaissonEvent, 'type' | 'data'>): void {
    this.#events.inc({ type });
    if (type === 'caisson.tenant.quota-repair') this.#repairs.inc({ kind: 'quota', did: 'repaired' });
    if (type === 'caisson.sandbox.repair' || type === 'caisson.host.repair')
      this.#repairs.inc({ kind: String(data.kind), did: String(data.did) });
  }

  health({ checks }: Health): void {
    for (const { name, state } of checks) this.#health.set({ check: name }, healthStates.indexOf(state));
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  render(): Promise<string> {
    return this.#registry.metrics();
  }
}

function told(name: string, help: string, registers: Registry[], read: () => number): void {
  new Gauge({
    name,
    help,
    registers,
    collect() {
      this.set(read());
    },
  });
}

function counted(
  name: string,
  help: string,
  label: string,
  registers: Registry[],
  read: () => Promise<Record<string, number>>,
): void {
  new Gauge({
    name,
    help,
    labelNames: [label],
    registers,
    async collect() {
      // A database that is away must not take the other numbers with it.
      const counts = await read().catch(() => ({}));
      this.reset();
      for (const [value, count] of Object.entries(counts)) this.set({ [label]: value }, count);
    },
  });
}
