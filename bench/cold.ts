import { BareRuntime } from './bare-runtime.ts';
import { whyNoDocker, withDocker } from './docker.ts';
import { guestProgram } from './guest.ts';
import { type Benchmark, median, percentile, type Report } from './report.ts';
import { bundleOf, type SandboxServer, whyNoSandboxes, withSandboxServer } from './sandbox-server.ts';
import { inTemporaryFolder } from './temporary.ts';

const command = ['/bin/echo', 'x'];
const rounds = 60;

/** From the request for a sandbox to the first output of a command in it; and the end of it. */
export const coldBenchmark: Benchmark = {
  name: 'cold',
  async run(report) {
    const why = whyNoSandboxes();
    if (why !== undefined) return console.error(`bench: cold is left out: ${why}`);
    await withSandboxServer((server) => inTemporaryFolder((folder) => measureCreate(report, server, folder)));
    await withSandboxServer((server) => measureCached(report, server));
    const noDocker = whyNoDocker();
    if (noDocker !== undefined) return console.error(`bench: docker.run is left out: ${noDocker}`);
    await measureDocker(report);
  },
};

/** Ours and the bare runtime take turns: whatever else the machine does falls on both. */
async function measureCreate(report: Report, server: SandboxServer, folder: string): Promise<void> {
  const standing = await server.create();
  const bare = new BareRuntime(bundleOf(standing), folder, guestProgram());
  const created: number[] = [];
  const destroyed: number[] = [];
  const ran: number[] = [];
  try {
    for (let n = 0; n < rounds; n += 1) {
      let began = performance.now();
      const id = await server.create();
      await server.exec(id, command);
      created.push(performance.now() - began);
      began = performance.now();
      await server.destroy(id);
      destroyed.push(performance.now() - began);
      ran.push(await bare.run());
    }
  } finally {
    await bare.close();
  }
  report.metric('create.cold.p50_ms', median(created));
  report.metric('create.cold.p99_ms', percentile(created, 99));
  report.metric('destroy.p50_ms', median(destroyed));
  report.metric('runtime.run.p50_ms', median(ran));
  report.ratio('create.cold.to_runtime', 'create.cold.p50_ms', 'runtime.run.p50_ms');
}

/** No step reaches outside: what is measured is the create, not the network. */
const known = { source: { kind: 'none' }, os: 'debian', runtime: { network: { mode: 'off' } } };
const cached = { ...known, setup: [{ run: 'echo built > /etc/built', workingDirectory: '/' }] };

/** From a spec that was built before, beside its base as it is; they take turns. */
async function measureCached(report: Report, server: SandboxServer): Promise<void> {
  const times: Record<'base' | 'spec', number[]> = { base: [], spec: [] };
  // The first one makes the base, which takes half a minute.
  await server.destroy(await server.create({ spec: cached, waitSeconds: 600 }));
  for (let n = 0; n < rounds; n += 1) {
    for (const [kind, spec] of [
      ['base', known],
      ['spec', cached],
    ] as const) {
      const began = performance.now();
      const id = await server.create({ spec });
      await server.exec(id, command);
      times[kind].push(performance.now() - began);
      await server.destroy(id);
    }
  }
  report.metric('create.known_image.p50_ms', median(times.base));
  report.metric('create.cached_spec.p50_ms', median(times.spec));
  report.ratio('create.cached_spec.to_known', 'create.cached_spec.p50_ms', 'create.known_image.p50_ms');
}

async function measureDocker(report: Report): Promise<void> {
  const times: number[] = [];
  await withDocker(async (docker) => {
    for (let n = 0; n < 15; n += 1) {
      const began = performance.now();
      const id = await docker.run();
      await docker.exec(id, command);
      times.push(performance.now() - began);
      await docker.remove(id);
    }
  });
  report.metric('docker.run.p50_ms', median(times));
  report.ratio('docker.run.to_ours', 'docker.run.p50_ms', 'create.cold.p50_ms');
}
