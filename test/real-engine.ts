import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kill } from 'node:process';
import { parseEndpoint } from '../packages/server/src/drivers/docker/endpoint.ts';
import { Engine } from '../packages/server/src/drivers/docker/engine.ts';
import { engineKinds } from '../packages/server/src/drivers/docker/engine-kind.ts';

export type EngineName = 'docker' | 'podman';

const programs = { docker: '/usr/sbin/dockerd', podman: '/usr/bin/podman' };
const startMs = 60_000;
/** What runs in the containers of tests; their libraries come along. */
const tools =
  'sh true echo sleep seq head tail wc nproc cat ls id mkdir rm touch stat chmod ln dd test env uname kill grep sed mknod mount date cut sort tr printf sync du df cp mv find chown readlink rmdir';

/** Why there is no such engine here; undefined when there is one. */
export function whyNoEngine(name: EngineName): string | undefined {
  if (process.getuid?.() !== 0) return `${name} needs root`;
  return existsSync(programs[name]) ? undefined : `${engineKinds[name].package} is not installed`;
}

/** An engine of a test's own: its data, state and socket are in a folder that goes with it. */
export interface RealEngine {
  readonly name: EngineName;
  readonly folder: string;
  /** As a driver is told of it. */
  readonly host: string;
  readonly engine: Engine;
  /** An image with a shell and the usual small programs. */
  readonly image: { readonly reference: string; readonly digest: string };
  /** Ends the engine and starts it again on the same data. */
  restart(): Promise<void>;
  /** Kills the engine, as a machine in trouble does; nothing of it is undone. */
  kill(): Promise<void>;
  /** Starts it again on the same data. */
  start(): Promise<void>;
  /** It neither answers nor ends, until `thaw`. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

export interface EngineOptions {
  /** Its data lie on a disk of their own of this size, mounted at `data` of its folder. */
  readonly disk?: { readonly type: 'ext4' | 'btrfs'; readonly mebibytes: number };
  /** Besides its socket, where it listens with TLS: a port of loopback, and the folder with its certificates. */
  readonly tls?: { readonly port: number; readonly folder: string };
}

/** `more`: programs that its image has besides the usual ones. */
export async function startEngine(
  name: EngineName,
  more: readonly string[] = [],
  options: EngineOptions = {},
): Promise<RealEngine> {
  const folder = mkdtempSync(join(tmpdir(), `csn-${name}-`));
  const host = `unix://${join(folder, 'socket')}`;
  const engine = new Engine(parseEndpoint(host), []);
  if (options.disk) mountDisk(folder, options.disk);
  const begin = () => (name === 'docker' ? beginDocker(folder, host, options) : beginPodman(folder, host));
  let process = begin();
  try {
    await answers(process, engine);
    const reference = await importTools(engine, more);
    return {
      name,
      folder,
      host,
      engine,
      image: { reference, digest: reference },
      async restart() {
        await end(process, 'SIGTERM');
        process = begin();
        await answers(process, engine);
      },
      kill: () => end(process, 'SIGKILL'),
      async start() {
        // What was killed is still ending, and the next may meet it: whoever looks after an engine tries again.
        for (let tries = 1; ; tries += 1) {
          rmSync(join(folder, 'pid'), { force: true });
          process = begin();
          const failed = await answers(process, engine).catch((error: Error) => error);
          if (!failed) return;
          if (tries === 5) throw failed;
        }
      },
      freeze: () => void process.kill('SIGSTOP'),
      thaw: () => void process.kill('SIGCONT'),
      async close() {
        await removeAll(engine).catch(() => {});
        engine.close();
        await end(process, 'SIGTERM');
        removeFolder(folder);
      },
    };
  } catch (error) {
    await end(process, 'SIGKILL');
    removeFolder(folder);
    throw error;
  }
}

function mountDisk(folder: string, { type, mebibytes }: { type: string; mebibytes: number }): void {
  const [file, point] = [join(folder, 'disk'), join(folder, 'data')];
  mkdirSync(point);
  execFileSync('truncate', ['--size', `${mebibytes}M`, file]);
  execFileSync(`mkfs.${type}`, ['-q', file]);
  execFileSync('mount', ['-o', 'loop', file, point]);
}

function beginDocker(folder: string, host: string, { tls }: EngineOptions): ChildProcess {
  const places = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')];
  const own = ['--pidfile', join(folder, 'pid'), '-H', host, '--bridge=none', '--iptables=false'];
  const at = (name: string) => join(tls?.folder ?? '', name);
  const files = ['--tlscacert', at('ca.pem'), '--tlscert', at('cert.pem'), '--tlskey', at('key.pem')];
  const secure = tls ? ['--tlsverify', ...files, '-H', `tcp://127.0.0.1:${tls.port}`] : [];
  const runsc = existsSync('/usr/bin/runsc') ? ['--config-file', dockerConfig(folder)] : [];
  return spawn(programs.docker, [...places, ...own, ...secure, ...runsc, '--log-level=error'], { stdio: 'ignore' });
}

function dockerConfig(folder: string): string {
  const path = join(folder, 'daemon.json');
  const runtimeArgs = ['--platform=ptrace', '--network=none'];
  writeFileSync(path, JSON.stringify({ runtimes: { runsc: { path: '/usr/bin/runsc', runtimeArgs } } }));
  return path;
}

/** With the limits that this process has: raising one takes a power that not every machine gives. */
function beginPodman(folder: string, host: string): ChildProcess {
  const at = (path: string) => join(folder, path);
  mkdirSync(at('data'), { recursive: true });
  const lines = [
    '[containers]',
    `default_ulimits = ["nofile=${ownLimit('open files')}", "nproc=${ownLimit('processes')}"]`,
    'log_driver = "k8s-file"',
    '[engine]',
    'cgroup_manager = "cgroupfs"',
    'events_logger = "file"',
    'runtime = "runc"',
    `static_dir = "${at('static')}"`,
    `volume_path = "${at('volumes')}"`,
    `tmp_dir = "${at('tmp')}"`,
    '[network]',
    `network_config_dir = "${at('networks')}"`,
  ];
  writeFileSync(at('containers.conf'), `${lines.join('\n')}\n`);
  const places = ['--root', at('data'), '--runroot', at('exec'), '--storage-driver', 'overlay'];
  return spawn(programs.podman, [...places, 'system', 'service', '--time', '0', host], {
    stdio: 'ignore',
    // Its monitors leave a file where they were started.
    cwd: folder,
    env: { ...globalThis.process.env, CONTAINERS_CONF: at('containers.conf') },
  });
}

/** Podman lowers its own to what the kernel counts to by default. */
function ownLimit(name: string): string {
  const found = readFileSync('/proc/self/limits', 'utf8').match(new RegExp(`^Max ${name}\\s+\\S+\\s+(\\d+)`, 'm'));
  const most = Math.min(Number(found?.[1] ?? 32_768), 32_768);
  return `${most}:${most}`;
}

async function answers(process: ChildProcess, engine: Engine): Promise<void> {
  const deadline = Date.now() + startMs;
  for (;;) {
    if (process.exitCode !== null || process.signalCode !== null)
      throw new Error(`the engine ended with ${process.exitCode}`);
    try {
      await engine.call('GET', '/_ping', { signal: AbortSignal.timeout(5_000) });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function importTools(engine: Engine, more: readonly string[]): Promise<string> {
  const found = [...tools.split(' '), ...more].map((tool) =>
    execFileSync('which', [tool], { encoding: 'utf8' }).trim(),
  );
  const libraries = execFileSync('ldd', found, { encoding: 'utf8' }).match(/\/\S+\.so\S*/g) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'csn-tools-'));
  for (const name of ['etc', 'tmp', 'root', 'home', 'run', 'var', 'proc', 'sys', 'dev']) mkdirSync(join(folder, name));
  chmodSync(join(folder, 'tmp'), 0o1777);
  writeFileSync(join(folder, 'etc', 'passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  writeFileSync(join(folder, 'etc', 'group'), 'root:x:0:\n');
  const all = [...new Set([...found, ...libraries])];
  const image = execFileSync(
    'tar',
    ['-chP', '--mode=a+rX', '--transform=s,^/,,', '--transform=s,^usr/bin,bin,', ...all, '-C', folder, '.'],
    { maxBuffer: 1 << 29 },
  );
  rmSync(folder, { recursive: true });
  const signal = AbortSignal.timeout(60_000);
  const query = { fromSrc: '-', repo: 'localhost/tools', tag: 'latest' };
  await engine.upload('POST', '/images/create', image, { query, signal });
  const { body } = await engine.call<{ Id: string }>('GET', '/images/localhost/tools:latest/json', { signal });
  return body.Id.startsWith('sha256:') ? body.Id : `sha256:${body.Id}`;
}

async function removeAll(engine: Engine): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  const { body } = await engine.call<{ Id: string }[]>('GET', '/containers/json', { query: { all: true }, signal });
  await Promise.all(
    body.map(({ Id }) =>
      engine.call('DELETE', `/containers/${Id}`, { query: { force: true }, accept: [404, 409], signal }),
    ),
  );
}

async function end(process: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = process.exitCode === null && process.signalCode === null ? once(process, 'exit') : undefined;
  process.kill(signal);
  const late = setTimeout(() => process.kill('SIGKILL'), 20_000);
  await ended;
  clearTimeout(late);
}

/** What an engine left running or mounted would keep its folder: Podman's monitors of execs wait for minutes. */
function removeFolder(folder: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(join('/proc', pid, 'cmdline'), 'utf8').includes(`${folder}/`)) kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  const points = mounted.map((line) => line.split(' ')[4] ?? '').filter((point) => point.startsWith(`${folder}/`));
  for (const point of points.sort().reverse()) execFileSync('umount', ['-l', point]);
  // Sandboxes may have made trees deeper than any path.
  execFileSync('rm', ['-rf', '--one-file-system', folder]);
}
