import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import type { ControlPlane } from './control-plane.ts';
import type { Heartbeat } from './sandbox/heartbeat.ts';
import { HealthWatch } from './telemetry/health.ts';
import type { Logger } from './telemetry/log.ts';
import { OtlpExporter } from './telemetry/otlp.ts';
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
  const onTrouble = (why: string) => log?.warn({ endpoint, why }, 'traces cannot be sent');
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
