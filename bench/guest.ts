import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuestClient, GuestListener } from '@caisson/guest';
import { type Benchmark, median, percentile, type Report, rateOf, timesOf } from './report.ts';

/** What packages/guest/build.mjs makes; the compiled benchmarks lie in bench/dist/bench. */
function nativeFolder(): string {
  const roots = [join(import.meta.dirname, '..'), join(import.meta.dirname, '..', '..', '..')];
  const found = roots
    .map((root) => join(root, 'packages', 'guest', 'dist', 'native', process.arch))
    .find((folder) => existsSync(join(folder, 'caisson-guest')));
  if (found === undefined) throw new Error('build the guest first: node packages/guest/build.mjs');
  return found;
}

export function guestProgram(): string {
  return join(nativeFolder(), 'caisson-guest');
}

const MiB = 1024 * 1024;

/** Through the client and a unix socket, with the guest as PID 1 of a namespace: no HTTP, no container runtime. */
export const guestBenchmark: Benchmark = {
  name: 'guest',
  async run(report) {
    const native = nativeFolder();
    const folder = mkdtempSync(join(tmpdir(), 'caisson-bench-'));
    const secrets = { current: randomBytes(32), next: randomBytes(32) };
    const client = new GuestClient();
    const path = join(folder, 'guest.sock');
    const sandboxId = 'sbxbenchmark00000000000';
    const ready = new Promise<void>((resolve) => {
      const onConnection: ConstructorParameters<typeof GuestListener>[0]['onConnection'] = (connection) => {
        client.use(connection);
        resolve();
      };
      const options = { path, sandboxId, incarnation: 1, secrets, storeSecrets: () => {}, onConnection };
      listener = new GuestListener(options);
    });
    await listener?.listen();
    const argv = ['-pf', '--mount-proc', '--kill-child', join(native, 'caisson-guest'), 'guest', '--socket', path];
    const child = spawn('unshare', [...argv, '--sandbox', sandboxId, '--incarnation', '1', '--secret-fd', '3'], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    });
    (child.stdio[3] as NodeJS.WritableStream).end(secrets.current);
    try {
      await ready;
      await measure(client, report, native, folder);
    } finally {
      child.kill('SIGKILL');
      await new Promise((done) => child.once('exit', done));
      client.close();
      await listener?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

let listener: GuestListener | undefined;

async function measure(client: GuestClient, report: Report, folder: string, scratch: string): Promise<void> {
  const asRoot = { user: 'root' } as const;
  const bare = execFileSync(join(folder, 'bare-spawn'), ['1000', '/bin/true'], { encoding: 'utf8' });
  report.metric('bare.spawn.p50_ms', median(bare.trim().split('\n').map(Number)));

  // The first ones are for the code to get warm, as with the pings below: the other side is compiled already.
  await timesOf(1000, () => client.processes.exec(['/bin/true'], asRoot));
  const exec = await timesOf(1000, () => client.processes.exec(['/bin/true'], asRoot));
  report.metric('guest.exec.p50_ms', median(exec));
  report.ratio('guest.exec.to_bare', 'guest.exec.p50_ms', 'bare.spawn.p50_ms');

  await timesOf(2000, () => client.ping());
  report.metric('guest.ping_us', median(await timesOf(5000, () => client.ping())) * 1000);

  report.metric('guest.output_mb_s', await rateOf(3, () => output(client, 2048)));
  const file = join(scratch, 'gigabyte');
  const content = Buffer.alloc(MiB, 7);
  const gigabyte = () =>
    (function* () {
      for (let n = 0; n < 1024; n += 1) yield content;
    })();
  report.metric(
    'guest.write_mb_s',
    await rateOf(3, async () => (await client.files.write(file, gigabyte(), asRoot)).size),
  );
  report.metric(
    'guest.read_mb_s',
    await rateOf(3, async () => {
      let bytes = 0;
      for await (const chunk of client.files.read(file, asRoot)) bytes += chunk.byteLength;
      return bytes;
    }),
  );
  await client.files.remove(file, asRoot);
  await underLoad(client, report, folder);
}

/**
 * Fifty streams: one that writes as fast as it can, and 49 that have something to say now and then. The 49 tick in step,
 * and each tick starts 49 programs: what a bare spawn takes beside them is the machine's part of the number.
 */
async function underLoad(client: GuestClient, report: Report, folder: string): Promise<void> {
  const asRoot = { user: 'root' } as const;
  const busy = await client.processes.spawn({ ...asRoot, argv: ['cat', '/dev/zero'] });
  const quiet = await Promise.all(
    Array.from({ length: 49 }, () =>
      client.processes.spawn({ ...asRoot, argv: ['sh', '-c', 'while :; do echo tick; sleep 0.2; done'] }),
    ),
  );
  const drains = [busy, ...quiet].map(async (process) => {
    for await (const _ of process.stdout);
  });
  const measured = await timesOf(2000, () => client.processes.exec(['/bin/true'], asRoot));
  const bare = await runAside(join(folder, 'bare-spawn'), ['500', '/bin/true']);
  await Promise.all([busy, ...quiet].map((process) => process.signal(9)));
  await Promise.all(drains);
  report.metric('guest.exec_under_load_p99_ms', percentile(measured, 99));
  report.metric('bare.spawn_under_load_p99_ms', percentile(bare.trim().split('\n').map(Number), 99));
}

/** Without holding up this process, whose work is part of the load. */
async function runAside(program: string, argv: readonly string[]): Promise<string> {
  return await new Promise((resolve, reject) => {
    execFile(program, argv, { encoding: 'utf8' }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    );
  });
}

async function output(client: GuestClient, mib: number): Promise<number> {
  const process = await client.processes.spawn({
    user: 'root',
    argv: ['dd', 'if=/dev/zero', 'bs=1M', `count=${mib}`, 'status=none'],
  });
  let bytes = 0;
  for await (const chunk of process.stdout) bytes += chunk.byteLength;
  await process.wait();
  await process.forget();
  return bytes;
}
