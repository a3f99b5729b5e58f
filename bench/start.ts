import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DataFolder, migrate, openControlPlane, openSqlite } from '@caisson/server';
import { caissonBin, startServerProcess } from '../test/server-process.ts';
import { type Benchmark, median, percentile, type Report } from './report.ts';
import { seedSandboxes } from './seed.ts';
import { inTemporaryFolder } from './temporary.ts';

/** From the start of the process to the first answer, and what the command costs beyond Node itself. */
export const startBenchmark: Benchmark = {
  name: 'start',
  async run(report) {
    await measureStart(report, 'start.empty_ms', async () => {});
    await measureStart(report, 'start.10k_ms', async (folder) => {
      const database = await openSqlite(join(folder, 'caisson.db'));
      await migrate(database);
      await seedSandboxes(database, 10_000, join(folder, 'fake'));
      await database.close();
    });
    const bare = () => timeOf(['-e', '0']);
    const version = () => timeOf([caissonBin, 'version']);
    const pairs = Array.from({ length: 15 }, () => version() - bare());
    report.metric('cli.version_over_node_ms', Math.max(0.1, median(pairs)));
  },
};

async function measureStart(report: Report, metric: string, prepare: (folder: string) => Promise<void>): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    await inTemporaryFolder(async (folder) => {
      await prepare(folder);
      const server = await startServerProcess(folder, { until: 'healthz' });
      times.push(server.startMs);
      await server.stop();
    });
  }
  report.metric(metric, median(times));
}

function timeOf(args: string[]): number {
  const began = performance.now();
  execFileSync(process.execPath, args, { stdio: 'ignore' });
  return performance.now() - began;
}

/** A create inside the server, from the request to `ready`, every write of it on disk; one at a time. */
export const createBenchmark: Benchmark = {
  name: 'create',
  async run(report) {
    await inTemporaryFolder(async (path) => {
      const folder = DataFolder.open(path);
      const { store, sandboxes, keys } = await openControlPlane(folder, { version: 'bench', drivers: ['fake'] });
      const key = await keys.create({
        name: 'bench',
        owner: { tenant: 'a', project: 'b', principal: 'c' },
        scope: 'use',
      });
      const caller = await keys.authenticate(key.secret);
      const times: number[] = [];
      for (let n = 0; n < 2_000; n += 1) {
        const began = performance.now();
        const { sandbox } = await sandboxes.create(caller, { waitSeconds: 10, labels: { n: String(n) } });
        if (sandbox.state !== 'ready') throw new Error(`a sandbox is ${sandbox.state}`);
        if (n >= 200) times.push(performance.now() - began);
      }
      report.metric('create.fake.p50_ms', percentile(times, 50));
      report.metric('create.fake.p99_ms', percentile(times, 99));
      await store.close();
      folder.close();
    });
  },
};
