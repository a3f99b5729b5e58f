import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import type { ControlPlane } from './control-plane.ts';
import type { Journal } from './network/journal.ts';
import type { Heartbeat } from './sandbox/heartbeat.ts';
import { HealthWatch } from './telemetry/health.ts';
import type { Logger } from './telemetry/log.ts';
import { Metrics } from './telemetry/metrics.ts';
import { OtlpExporter } from './telemetry/otlp.ts';
import type { WebhookNumbers } from './telemetry/service-metrics.ts';
import { Spans } from './telemetry/spans.ts';

export interface TraceSettings {
  /** A collector that takes OTLP over HTTP; without one there are no traces. */
  readonly endpoint?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface Tracing {
  readonly spans: Spans;
  droppedSpans(): number;
  close(): Promise<void>;
}

export function openTracing(
  { endpoint, headers }: TraceSettings,
  service: { readonly version: string; readonly instance: string },
  log: Pick<Logger, 'warn'> | undefined,
): Tracing {
  const spans = new Spans();
  if (endpoint === undefined) return { spans, droppedSpans: () => 0, close: async () => {} };
  const { host } = new URL(endpoint);
  const onTrouble = (why: string) => log?.warn({ collector: host, why }, 'traces cannot be sent');
  const exporter = new OtlpExporter({ endpoint, headers, service, onTrouble });
  spans.trace(exporter.take);
  return { spans, droppedSpans: () => exporter.dropped, close: () => exporter.close() };
}

export function openHealth(
  { store, hosts, storageRoom }: Pick<ControlPlane, 'store' | 'hosts' | 'storageRoom'>,
  heartbeat: Pick<Heartbeat, 'secondsAgo'>,
  dataFolder: string,
): HealthWatch {
  return new HealthWatch({
    pingDatabase: () => store.ping(),
    diskUsed: async () => {
      const { blocks, bavail } = await statfs(dataFolder);
      return blocks === 0 ? 1 : 1 - bavail / blocks;
    },
    storageUsed: async () => {
      const room = await storageRoom();
      if (!room) return undefined;
      return room.totalBytes === 0 ? 1 : 1 - room.freeBytes / room.totalBytes;
    },
    memoryUsed: () => 1 - process.availableMemory() / totalmem(),
    drivers: () => hosts.driverTrouble(),
    reconciledSecondsAgo: () => heartbeat.secondsAgo,
    jobs: () => store.jobs.trouble(),
  });
}

type Measured = Pick<ControlPlane, 'store' | 'runner' | 'pools' | 'egress' | 'router' | 'audit' | 'storageRoom'>;

/** Every number that the server tells, from where each is known. */
export function openMetrics(
  parts: Measured & {
    readonly journal: Journal;
    readonly tracing: Tracing;
    /** Whether somebody is told of what was used. */
    readonly isUsageTold: boolean;
    webhooks(): WebhookNumbers;
  },
): Metrics {
  const { store, runner, pools, egress, router, audit, journal, tracing, isUsageTold } = parts;
  const metrics = new Metrics({
    sandboxesByState: () => store.sandboxes.countByState(),
    jobsByState: () => store.jobs.countByState(),
    operations: () => runner.count,
    storage: parts.storageRoom,
    pools: () => pools.show(),
    links: () => egress.gates.count,
    egress: () => journal.counted,
    droppedSpans: () => tracing.droppedSpans(),
    routes: () => router.numbers(),
    service: {
      credits: () => store.numbers.credits(),
      movements: () => store.numbers.movements(),
      untoldUsage: async () => (isUsageTold ? store.numbers.untoldUsage() : undefined),
      dueLeases: () => store.numbers.dueLeases(),
      quotas: () => store.numbers.quotas(),
      audit: () => audit.numbers,
      webhooks: () => parts.webhooks(),
    },
  });
  // From here on they are counted; a database that is away now is asked when somebody looks.
  void store.numbers.movements().catch(() => {});
  tracing.spans.listen((span) => metrics.span(span));
  store.onEvent((event) => metrics.event(event));
  return metrics;
}
