import { type Benchmark, median, type Report, timesOf } from './report.ts';
import { type SandboxServer, whyNoSandboxes, withSandboxServer } from './sandbox-server.ts';

const rounds = 15;
const largeRounds = 5;
const forks = 50;
/** As large as sources are; smaller ones would lie in the metadata of btrfs. */
const fileBytes = 4096;

interface Kept {
  readonly id: string;
  readonly frozenMs: number;
}

/** Snapshots of changes that nobody has written out, the way back to them, and new sandboxes from a live one. */
export const travelBenchmark: Benchmark = {
  name: 'travel',
  async run(report) {
    const why = whyNoSandboxes();
    if (why !== undefined) return console.error(`bench: travel is left out: ${why}`);
    await withSandboxServer(
      async (server) => {
        await measureSnapshots(report, server, 'small', 10, rounds);
        await measureSnapshots(report, server, 'large', 20_000, largeRounds);
        await measureRollback(report, server);
        await measureForks(report, server);
        await measurePause(report, server);
      },
      ['--storage', 'btrfs'],
    );
  },
};

async function measureSnapshots(
  report: Report,
  server: SandboxServer,
  size: string,
  files: number,
  count: number,
): Promise<void> {
  const id = await server.create();
  const frozen: number[] = [];
  const times: number[] = [];
  for (let round = 0; round < count; round += 1) {
    // The files of the round before are on the disk; those of this one are nowhere but in memory.
    await server.exec(id, ['/bin/sh', '-c', `rm -rf /tmp/files; sync; mkdir /tmp/files`]);
    await server.exec(id, [
      '/bin/sh',
      '-c',
      `head -c ${files * fileBytes} /dev/urandom | split -a 5 -b ${fileBytes} - /tmp/files/`,
    ]);
    const began = performance.now();
    const kept = await server.connection.json<Kept>('POST', `/v1/sandboxes/${id}/snapshots`, {});
    times.push(performance.now() - began);
    frozen.push(kept.frozenMs);
  }
  await server.destroy(id);
  report.metric(`snapshot.${size}.p50_ms`, median(times));
  report.metric(`snapshot.frozen_${size}_ms`, median(frozen));
}

async function measureRollback(report: Report, server: SandboxServer): Promise<void> {
  const id = await server.create();
  const { id: snapshot } = await server.connection.json<Kept>('POST', `/v1/sandboxes/${id}/snapshots`, {});
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await server.exec(id, ['/bin/sh', '-c', 'seq 10 | split -l 1 - /tmp/x; sleep 1000 >/dev/null 2>&1 &']);
    const began = performance.now();
    const { state } = await server.connection.json<{ state: string }>('POST', `/v1/sandboxes/${id}/rollback`, {
      snapshot,
    });
    times.push(performance.now() - began);
    if (state !== 'ready') throw new Error(`${id} is ${state}`);
  }
  await server.destroy(id);
  report.metric('rollback.p50_ms', median(times));
}

/** From the request to the first output of the new one; and many at once, until the last of them is ready. */
async function measureForks(report: Report, server: SandboxServer): Promise<void> {
  const id = await server.create();
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await server.exec(id, ['/bin/sh', '-c', 'seq 10 | split -l 1 - /tmp/x']);
    const began = performance.now();
    const [fork] = await server.fork(id, 1);
    await server.exec(fork ?? '', ['/bin/echo', 'x']);
    times.push(performance.now() - began);
    await server.destroy(fork ?? '');
  }
  report.metric('fork.p50_ms', median(times));
  const began = performance.now();
  const many = await server.fork(id, forks);
  report.metric(`fork${forks}.wall_ms`, performance.now() - began);
  for (const one of [...many, id]) await server.destroy(one);
}

async function measurePause(report: Report, server: SandboxServer): Promise<void> {
  const id = await server.create();
  await server.exec(id, ['/bin/sh', '-c', 'while :; do :; done >/dev/null 2>&1 &']);
  const [paused, resumed]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    paused.push(...(await timesOf(1, () => server.connection.json('POST', `/v1/sandboxes/${id}/pause`, {}))));
    resumed.push(...(await timesOf(1, () => server.connection.json('POST', `/v1/sandboxes/${id}/resume`, {}))));
  }
  await server.destroy(id);
  report.metric('pause.p50_ms', median(paused));
  report.metric('resume.p50_ms', median(resumed));
}
