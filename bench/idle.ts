import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { type Benchmark, percentile, type Report, timesOf } from './report.ts';
import { type SandboxServer, whyNoSandboxes, withSandboxServer } from './sandbox-server.ts';

const few = 200;
const many = 1_000;
const settleMs = 3_000;
const settledKiB = 1_024;
const looksMax = 10;

/** What a sandbox costs in which nothing happens. `--thousand` goes on to a thousand of them, which takes minutes. */
export const idleBenchmark: Benchmark = {
  name: 'idle',
  async run(report, { thousand }) {
    const why = whyNoSandboxes();
    if (why !== undefined) return console.error(`bench: idle is left out: ${why}`);
    await withSandboxServer((server) => measure(report, server, thousand));
  },
};

async function measure(report: Report, server: SandboxServer, thousand: boolean): Promise<void> {
  const ids = [await server.create()];
  report.metric('idle.get_alone_p99_ms', await getP99(server, ids));
  const before = await available();
  await grow(server, ids, few + 1);
  report.metric('idle.kb', Math.max(0, before - (await available())) / few);
  report.metric('idle.get_p99_ms', await getP99(server, ids));
  report.ratio('idle.get_to_alone', 'idle.get_p99_ms', 'idle.get_alone_p99_ms');
  if (!thousand) return;
  await grow(server, ids, many);
  let answered = 0;
  for (const id of ids) {
    const { stdout } = await server.exec(id, ['/bin/echo', id]);
    if (stdout.trim() === id) answered += 1;
  }
  report.metric('idle.thousand', answered);
}

async function grow(server: SandboxServer, ids: string[], count: number): Promise<void> {
  while (ids.length < count) ids.push(await server.create());
}

async function getP99(server: SandboxServer, ids: readonly string[]): Promise<number> {
  let n = 0;
  const get = () => {
    n += 1;
    return server.connection.json('GET', `/v1/sandboxes/${ids[n % ids.length]}`);
  };
  await timesOf(500, get);
  return percentile(await timesOf(3_000, get), 99);
}

/**
 * KiB that the kernel could give away. It takes its time to free what ended, so this empties its caches and looks again
 * until it frees no more.
 */
async function available(): Promise<number> {
  for (let last = 0, looks = 0; ; looks += 1) {
    execFileSync('sync');
    writeFileSync('/proc/sys/vm/drop_caches', '3');
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const now = Number(/MemAvailable:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? 0);
    if (now - last < settledKiB || looks === looksMax) return now;
    last = now;
  }
}
