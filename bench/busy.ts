import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { migrate, openSqlite } from '@caisson/server';
import { startBusyServer } from './busy-server.ts';
import { Connection } from './connection.ts';
import { type Benchmark, percentile } from './report.ts';
import { seedSandboxes } from './seed.ts';
import { inTemporaryFolder } from './temporary.ts';

const idleSandboxes = 10_000;
const plan = { perSecond: 1_000, seconds: 20 };
/** As many as people and agents ask of a server that mostly runs. */
const requestsPerSecond = 100;

/**
 * What a client waits for while a server has ten thousand idle sandboxes, looks at them every five seconds, and writes a
 * thousand events a second that a webhook takes. Requests are sent when they are due, whatever became of those before: one
 * that waits for the server counts from then on.
 */
export const busyBenchmark: Benchmark = {
  name: 'busy',
  async run(report) {
    await inTemporaryFolder(async (folder) => {
      const database = await openSqlite(join(folder, 'caisson.db'));
      await migrate(database);
      await seedSandboxes(database, idleSandboxes, join(folder, 'fake'), () => ({ at_expiry: 'destroy' }));
      await database.close();
      const worker = new Worker(new URL('./webhook-receiver.js', import.meta.url));
      const [{ port }] = (await once(worker, 'message')) as [{ port: number }];
      const server = await startBusyServer(folder, `http://127.0.0.1:${port}/`);
      const connection = new Connection({ url: server.url });
      const paths = pathsOf(server.ids);
      // Its code is warm, and so are its connections.
      for (let n = 0; n < 300; n += 1) await connection.json('GET', paths(n));
      let isSending = true;
      const sending = server.send(plan).finally(() => {
        isSending = false;
      });
      const waits = await askWhile(connection, paths, () => isSending);
      const { count, cpuMicros } = await sending;
      const latencies = await delivered(worker, count);
      connection.close();
      await server.close();
      await worker.terminate();
      report.metric('busy.api_p50_ms', percentile(waits, 50));
      report.metric('busy.api_p99_ms', percentile(waits, 99));
      report.metric('busy.webhook_p99_ms', percentile(latencies, 99));
      report.metric('busy.cpu_pct', cpuMicros / plan.seconds / 10_000);
    });
  },
};

/** Mostly one sandbox, sometimes a page of them, its events, or the numbers. */
function pathsOf(ids: readonly string[]): (n: number) => string {
  return (n) => {
    const id = ids[n % ids.length];
    if (n % 20 === 0) return '/v1/sandboxes?limit=50';
    return n % 20 === 10 ? `/v1/sandboxes/${id}/events?limit=20` : `/v1/sandboxes/${id}`;
  };
}

/** Milliseconds of each, from when it was due to its answer. */
async function askWhile(connection: Connection, paths: (n: number) => string, goOn: () => boolean): Promise<number[]> {
  const waits: number[] = [];
  const asking: Promise<void>[] = [];
  const began = performance.now();
  while (goOn()) {
    const due = began + (asking.length * 1_000) / requestsPerSecond;
    const early = due - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    const ask = async () => {
      // A timer of this process that is late is not the server's.
      const from = Math.max(due, performance.now() - 2);
      await connection.json('GET', paths(asking.length));
      waits.push(performance.now() - from);
    };
    asking.push(ask());
  }
  await Promise.all(asking);
  return waits;
}

async function delivered(worker: Worker, count: number): Promise<number[]> {
  const latencies: number[] = [];
  const giveUp = Date.now() + 60_000;
  while (latencies.length < count && Date.now() < giveUp) {
    worker.postMessage('more');
    const [{ latencies: found }] = (await once(worker, 'message')) as [{ latencies: number[] }];
    latencies.push(...found);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  if (latencies.length < count) throw new Error(`only ${latencies.length} of ${count} events arrived`);
  return latencies;
}
