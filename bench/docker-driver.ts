import { startServerProcess } from '../test/server-process.ts';
import { type Docker, whyNoDocker, withDocker } from './docker.ts';
import { type Benchmark, median, type Report, timesOf } from './report.ts';
import { SandboxServer } from './sandbox-server.ts';
import { inTemporaryFolder } from './temporary.ts';

const rounds = 25;
const os = { family: 'image', reference: 'bench:latest' };
const spec = { source: { kind: 'none' }, target: { os }, runtime: { network: { mode: 'off' } } };

/** Sandboxes on a Docker engine, through HTTP; beside them what the same engine does by its own API. */
export const dockerDriverBenchmark: Benchmark = {
  name: 'docker_driver',
  async run(report) {
    const why = whyNoDocker();
    if (why !== undefined) return console.error(`bench: docker_driver is left out: ${why}`);
    await withDocker((docker, host) =>
      inTemporaryFolder(async (folder) => {
        const more = ['--destroy-on-exit', '--docker-host', host];
        const process = await startServerProcess(folder, { drivers: ['docker'], more });
        const server = new SandboxServer(process.url, 0);
        try {
          await measure(report, server, docker);
        } finally {
          await server.destroyAll().catch((error: Error) => console.error(`bench: left behind: ${error.message}`));
          server.connection.close();
          await process.stop();
        }
      }),
    );
  },
};

/** Ours and the engine's own take turns: whatever else the machine does falls on both. */
async function measure(report: Report, server: SandboxServer, docker: Docker): Promise<void> {
  await server.destroy(await server.create({ spec }));
  const [ours, engines]: [number[], number[]] = [[], []];
  for (let n = 0; n < rounds; n += 1) {
    let began = performance.now();
    const sandbox = await server.create({ spec });
    await server.exec(sandbox, ['/bin/echo', 'x']);
    ours.push(performance.now() - began);
    await server.destroy(sandbox);
    began = performance.now();
    const container = await docker.run();
    await docker.exec(container, ['/bin/echo', 'x']);
    engines.push(performance.now() - began);
    await docker.remove(container);
  }
  report.metric('docker_driver.create.p50_ms', median(ours));
  report.metric('docker.run.p50_ms', median(engines));
  report.ratio('docker_driver.create.to_engine', 'docker_driver.create.p50_ms', 'docker.run.p50_ms');
  const sandbox = await server.create({ spec });
  const container = await docker.run();
  await timesOf(300, () => server.exec(sandbox, ['/bin/true']));
  report.metric('docker_driver.exec.p50_ms', median(await timesOf(1_000, () => server.exec(sandbox, ['/bin/true']))));
  await timesOf(5, () => docker.exec(container, ['/bin/true']));
  report.metric('docker.exec.p50_ms', median(await timesOf(40, () => docker.exec(container, ['/bin/true']))));
  report.ratio('docker.exec.to_docker_driver', 'docker.exec.p50_ms', 'docker_driver.exec.p50_ms');
  await docker.remove(container);
}
