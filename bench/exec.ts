import { whyNoDocker, withDocker } from './docker.ts';
import { type Benchmark, median, percentile, timesOf } from './report.ts';
import { whyNoSandboxes, withSandboxServer } from './sandbox-server.ts';

const command = ['/bin/true'];

/** One command after the other in one sandbox, through HTTP; the same of Docker through its own API. */
export const execBenchmark: Benchmark = {
  name: 'exec',
  async run(report) {
    const why = whyNoSandboxes();
    if (why !== undefined) return console.error(`bench: exec is left out: ${why}`);
    await withSandboxServer(async (server) => {
      const id = await server.create();
      await timesOf(500, () => server.exec(id, command));
      const times = await timesOf(2_000, () => server.exec(id, command));
      report.metric('exec.p50_ms', median(times));
      report.metric('exec.p99_ms', percentile(times, 99));
    });
    const noDocker = whyNoDocker();
    if (noDocker !== undefined) return console.error(`bench: docker.exec is left out: ${noDocker}`);
    await withDocker(async (docker) => {
      const id = await docker.run();
      await timesOf(5, () => docker.exec(id, command));
      report.metric('docker.exec.p50_ms', median(await timesOf(40, () => docker.exec(id, command))));
      await docker.remove(id);
    });
    report.ratio('docker.exec.to_ours', 'docker.exec.p50_ms', 'exec.p50_ms');
  },
};
