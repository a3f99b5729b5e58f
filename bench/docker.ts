import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from './connection.ts';
import { inTemporaryFolder } from './temporary.ts';

const program = '/usr/sbin/dockerd';
/** What runs in its containers, with the libraries that they need. */
const programs = ['/bin/true', '/bin/echo', '/bin/sleep'];
const startMs = 60_000;

export function whyNoDocker(): string | undefined {
  if (process.getuid?.() !== 0) return 'dockerd needs root';
  return existsSync(program) ? undefined : 'docker.io is not installed';
}

/** Docker through its Engine API: its command line would be measured with it. */
export class Docker {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** A container that idles, as a sandbox does: no network, an init to reap. */
  async run(): Promise<string> {
    const { Id } = await this.#connection.json<{ Id: string }>('POST', '/containers/create', {
      Image: 'bench',
      Cmd: ['/bin/sleep', 'infinity'],
      HostConfig: { NetworkMode: 'none' },
    });
    await this.#connection.json('POST', `/containers/${Id}/start`);
    return Id;
  }

  async exec(id: string, command: readonly string[]): Promise<void> {
    const made = await this.#connection.json<{ Id: string }>('POST', `/containers/${id}/exec`, {
      Cmd: command,
      AttachStdout: true,
      AttachStderr: true,
    });
    await this.#connection.json('POST', `/exec/${made.Id}/start`, { Detach: false, Tty: false });
    const { ExitCode } = await this.#connection.json<{ ExitCode: number }>('GET', `/exec/${made.Id}/json`);
    if (ExitCode !== 0) throw new Error(`${command.join(' ')} ended with ${ExitCode} in Docker`);
  }

  async remove(id: string): Promise<void> {
    await this.#connection.json('DELETE', `/containers/${id}?force=1`);
  }
}

/** Work with a Docker of our own, which is gone afterwards with all that it made. */
export async function withDocker<T>(work: (docker: Docker, host: string) => Promise<T>): Promise<T> {
  return await inTemporaryFolder(async (folder) => {
    const socketPath = join(folder, 'socket');
    const places = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')];
    const pidFiles = ['--pidfile', join(folder, 'pid'), '-H', `unix://${socketPath}`];
    const engine = spawn(program, [...places, ...pidFiles, '--bridge=none', '--iptables=false', '--log-level=error'], {
      stdio: 'ignore',
    });
    const connection = new Connection({ socketPath });
    try {
      await answers(engine, connection);
      const image = execFileSync('tar', ['-chP', '--transform=s,^/,,', ...programs, ...libraries()], {
        maxBuffer: 1 << 28,
      });
      const made = await connection.open('POST', '/images/create?fromSrc=-&repo=bench', {}, image);
      for await (const _ of made);
      return await work(new Docker(connection), `unix://${socketPath}`);
    } finally {
      connection.close();
      await stop(engine, folder);
    }
  });
}

function libraries(): string[] {
  const words = execFileSync('ldd', programs, { encoding: 'utf8' });
  return [...new Set(words.match(/\/\S+\.so\S*/g))];
}

async function answers(engine: ChildProcess, connection: Connection): Promise<void> {
  const deadline = Date.now() + startMs;
  for (;;) {
    if (engine.exitCode !== null) throw new Error(`dockerd ended with ${engine.exitCode}`);
    try {
      await connection.json('GET', '/_ping');
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** It ends its containers and its containerd by itself; what it left mounted would keep the folder. */
async function stop(engine: ChildProcess, folder: string): Promise<void> {
  const ended = engine.exitCode === null && engine.signalCode === null ? once(engine, 'exit') : undefined;
  engine.kill('SIGTERM');
  const late = setTimeout(() => engine.kill('SIGKILL'), 20_000);
  await ended;
  clearTimeout(late);
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  const points = mounted.map((line) => line.split(' ')[4] ?? '').filter((point) => point.startsWith(`${folder}/`));
  for (const point of points.sort().reverse()) execFileSync('umount', ['-l', point]);
}
