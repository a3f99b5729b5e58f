import { once } from 'node:events';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import type { Id } from '@caisson/contract';
import { DataFolder, migrate, openControlPlane, openSqlite } from '@caisson/server';
import { type Benchmark, percentile } from './report.ts';
import { seedSandboxes } from './seed.ts';
import { sendEvents } from './send-events.ts';
import { inTemporaryFolder } from './temporary.ts';

const idleSandboxes = 10_000;
const plan = { perSecond: 1_000, seconds: 20 };
const busySandboxes = 200;
/** As a server does. */
const passEveryMs = 5_000;
const quietPasses = 5;

/**
 * From the commit of an event to a receiver that has it, at a thousand events a second, in a server that has ten thousand
 * idle sandboxes and looks at them as ever, which is measured too: the longest pass beside all of that, what of one
 * processor passes take, and for how long one lets nobody else in. The receiver is another thread.
 */
export const webhookBenchmark: Benchmark = {
  name: 'webhook',
  async run(report) {
    await inTemporaryFolder(async (path) => {
      const database = await openSqlite(join(path, 'caisson.db'));
      await migrate(database);
      await seedSandboxes(database, idleSandboxes, join(path, 'fake'), () => ({ at_expiry: 'destroy' }));
      await database.close();
      const folder = DataFolder.open(path);
      const worker = new Worker(new URL('./webhook-receiver.js', import.meta.url));
      const [{ port }] = (await once(worker, 'message')) as [{ port: number }];
      const plane = await openControlPlane(folder, {
        version: 'bench',
        drivers: ['fake'],
        sinks: { open: ['127.0.0.1'] },
      });
      const owner = { tenant: 'bench', project: 'bench', principal: 'bench' };
      const caller = { owner, scope: 'manage', key: null } as const;
      const ids: Id<'sandbox'>[] = [];
      for (let n = 0; n < busySandboxes; n += 1)
        ids.push((await plane.sandboxes.create(caller, { waitSeconds: 60 })).sandbox.id);
      await plane.sinks.open();
      await plane.webhooks.add(caller, { url: `http://127.0.0.1:${port}/` });
      const passes: number[] = [];
      const pass = async () => {
        const began = performance.now();
        await plane.reconciler.pass();
        passes.push(performance.now() - began);
      };
      const passing = setInterval(() => void pass().catch(() => {}), passEveryMs);
      const cpu = process.cpuUsage();
      const sent = await sendEvents(plan, (n) =>
        plane.store.sandboxes.note(ids[n % ids.length] ?? ('' as Id<'sandbox'>), 'caisson.sandbox.progress', {
          line: String(n),
        }),
      );
      const latencies: number[] = [];
      const giveUp = Date.now() + 60_000;
      while (latencies.length < sent && Date.now() < giveUp) {
        worker.postMessage('more');
        const [{ latencies: found }] = (await once(worker, 'message')) as [{ latencies: number[] }];
        latencies.push(...found);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      const { user, system } = process.cpuUsage(cpu);
      clearInterval(passing);
      const holds = monitorEventLoopDelay({ resolution: 1 });
      holds.enable();
      const before = process.cpuUsage();
      for (let n = 0; n < quietPasses; n += 1) await plane.reconciler.pass();
      const quiet = process.cpuUsage(before);
      holds.disable();
      await plane.close();
      folder.close();
      await worker.terminate();
      if (latencies.length < sent) throw new Error(`only ${latencies.length} of ${sent} events arrived`);
      report.metric('reconcile.10k_ms', Math.max(...passes));
      report.metric('reconcile.cpu_pct', ((quiet.user + quiet.system) / quietPasses / 1000 / passEveryMs) * 100);
      report.metric('reconcile.hold_ms', holds.max / 1e6);
      report.metric('webhook.p50_ms', percentile(latencies, 50));
      report.metric('webhook.p99_ms', percentile(latencies, 99));
      report.metric('webhook.cpu_us_per_event', (user + system) / sent);
    });
  },
};
