import { BackendHealth, FakeDriver, HostRoom, Router } from '@caisson/server';
import { normalizeUserWorkspaceSpec } from '@caisson/workspace-composition';
import { type Benchmark, percentile } from './report.ts';

const candidates = 50;
const rounds = 5_000;

/** One whole decision: what each backend lacks, costs and took of late, the order, and the text that is kept of it. */
export const routeBenchmark: Benchmark = {
  name: 'route',
  async run(report) {
    const names = Array.from({ length: candidates }, (_, n) => `backend-${n}`);
    const health = new BackendHealth();
    for (const [n, driver] of names.entries())
      if (n % 3 > 0) health.launched({ driver, host: 'here' }, 'bench', 20 + n);
    const router = new Router({
      backends: names.map((name) => ({ driver: new FakeDriver({ name }), host: 'here' })),
      health,
      prices: {
        asOf: '2026-11-15',
        entries: names.map((driver, n) => ({ driver, perHour: n, perCpuHour: 10, perGiBHour: 5 })),
      },
      room: new HostRoom(async () => undefined),
      here: 'here',
    });
    const runtime = { resources: { memoryMiB: 512 }, network: { mode: 'off' } };
    const blueprint = normalizeUserWorkspaceSpec({ source: { kind: 'none' }, runtime });
    const request = {
      blueprint,
      tenant: 'bench',
      policy: { autoPause: true, snapshotTools: true },
      size: { cpus: 2, memoryMiB: 512 },
      strategy: 'lowest-latency',
      maxPricePerHourMicros: 60,
    } as const;
    const times = Array.from({ length: rounds }, () => {
      const began = performance.now();
      JSON.stringify(router.decide(request));
      return performance.now() - began;
    });
    report.metric('route.p50_ms', percentile(times, 50));
    report.metric('route.p99_ms', percentile(times, 99));
  },
};
