import { whyNoDocker, withDocker } from './docker.ts';
import { type Benchmark, percentile, type Report } from './report.ts';
import { pooledProfile, type SandboxServer, whyNoSandboxes, withSandboxServer } from './sandbox-server.ts';

const command = ['/bin/echo', 'x'];
const perSecond = 5;
const seconds = 60;
const poolSize = 10;
const burst = 100;
const burstPoolSize = 20;

/** Sandboxes from a warm pool: one now and then while the pool is refilled, and many more at once than it has. */
export const warmBenchmark: Benchmark = {
  name: 'warm',
  async run(report) {
    const why = whyNoSandboxes();
    if (why !== undefined) return console.error(`bench: warm is left out: ${why}`);
    await withSandboxServer(async (server) => {
      await measureSteady(report, server);
      await measureBurst(report, server);
    });
    const noDocker = whyNoDocker();
    if (noDocker !== undefined) return console.error(`bench: docker.burst is left out: ${noDocker}`);
    await measureDocker(report);
  },
};

/** A create each 200 ms whatever became of the one before, up to its first output. Its end is not waited for either. */
async function measureSteady(report: Report, server: SandboxServer): Promise<void> {
  await server.fillPool(poolSize);
  const before = (await server.pool()).misses;
  const times: number[] = [];
  const running: Promise<void>[] = [];
  for (let n = 0; n < perSecond * seconds; n += 1) {
    running.push(
      firstOutput(server, times).then((id) => server.destroy(id)),
      new Promise((resolve) => setTimeout(resolve, 1000 / perSecond)),
    );
    await running.at(-1);
  }
  await Promise.all(running);
  report.metric('create.warm.p50_ms', percentile(times, 50));
  report.metric('create.warm.p99_ms', percentile(times, 99));
  report.metric('create.warm.misses', (await server.pool()).misses - before);
}

async function measureBurst(report: Report, server: SandboxServer): Promise<void> {
  await server.fillPool(burstPoolSize);
  const began = performance.now();
  const ids = await Promise.all(Array.from({ length: burst }, () => firstOutput(server, [])));
  const wallMs = performance.now() - began;
  report.metric('burst100.wall_ms', wallMs);
  report.metric('burst100.per_sandbox_ms', wallMs / burst);
  for (const id of ids) await server.destroy(id);
}

async function firstOutput(server: SandboxServer, times: number[]): Promise<string> {
  const began = performance.now();
  const id = await server.create({ profile: pooledProfile });
  await server.exec(id, command);
  times.push(performance.now() - began);
  return id;
}

/** As many containers at once, each up to the first output of a command in it. */
async function measureDocker(report: Report): Promise<void> {
  await withDocker(async (docker) => {
    const first = await docker.run();
    await docker.exec(first, command);
    await docker.remove(first);
    const began = performance.now();
    const ids = await Promise.all(
      Array.from({ length: burst }, async () => {
        const id = await docker.run();
        await docker.exec(id, command);
        return id;
      }),
    );
    report.metric('docker.burst.per_sandbox_ms', (performance.now() - began) / burst);
    for (const id of ids) await docker.remove(id);
  });
  report.ratio('docker.burst.to_ours', 'docker.burst.per_sandbox_ms', 'burst100.per_sandbox_ms');
}
