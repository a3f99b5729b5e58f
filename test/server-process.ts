import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readFacts } from '@caisson/server';
import { slowness } from './slowness.ts';

/** The command as users run it. Found from wherever this file was compiled to. */
export const caissonBin = join(projectRoot(import.meta.dirname), 'packages', 'cli', 'bin', 'caisson.mjs');

/** The server in a process of its own, so that it can be killed, and so that it and its load share no thread. */
export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** From the start of the process to its first answer. */
  readonly startMs: number;
  /** `kill -9`, and wait until it is gone. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServerProcessOptions {
  readonly databaseUrl?: string | undefined;
  /** The fake one when absent: most of what is tested needs no real sandbox. */
  readonly drivers?: readonly string[];
  /** What must answer before it counts as started: `healthz` when it is alive, `readyz` when it is ready. */
  readonly until?: 'healthz' | 'readyz';
  /** A free port when absent. */
  readonly port?: number | undefined;
  /** More of what `caisson serve` takes. */
  readonly more?: readonly string[];
  /** Is given everything that the server writes. */
  readonly onOutput?: (chunk: Buffer) => void;
  /** What starts it in place of this process, with the command as its last arguments. It must become the server. */
  readonly under?: readonly string[];
  /** Variables besides those of the test. */
  readonly env?: Readonly<Record<string, string>>;
}

const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

export async function startServerProcess(folder: string, options: ServerProcessOptions = {}): Promise<ServerProcess> {
  const {
    databaseUrl,
    until = 'readyz',
    drivers = ['fake'],
    port = 0,
    more = [],
    env = {},
    under = [],
    onOutput,
  } = options;
  const database = databaseUrl === undefined ? [] : ['--database', databaseUrl];
  const began = performance.now();
  const listen = ['--listen', `127.0.0.1:${port}`];
  const args = [caissonBin, 'serve', '--data', folder, ...listen, '--log-level', 'warn', ...database, ...more];
  args.push(...drivers.flatMap((name) => ['--driver', name]));
  const [program = '', ...command] = [...under, process.execPath, ...args];
  const child = spawn(program, command, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  living.add(child);
  let words = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      words = (words + chunk).slice(-4000);
      onOutput?.(chunk);
    });
  }
  const url = await whenAnswering(child, folder, until, () => words).catch(async (error) => {
    // One that did not answer in time may still come up, and would hold the folder.
    await end(child, 'SIGKILL');
    throw error;
  });
  const startMs = performance.now() - began;
  const pid = child.pid ?? 0;
  return { url, pid, startMs, kill: () => end(child, 'SIGKILL'), stop: () => end(child, 'SIGTERM') };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
  child.kill(signal);
  await ended;
  living.delete(child);
}

async function whenAnswering(child: ChildProcess, folder: string, path: string, words: () => string): Promise<string> {
  const deadline = Date.now() + 20_000 * slowness;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${words()}`);
    const facts = readFacts(folder);
    const url = facts?.pid === child.pid ? facts?.addresses.find((address) => address.startsWith('http')) : undefined;
    if (
      url &&
      (await fetch(`${url}/${path}`).then(
        (response) => response.ok,
        () => false,
      ))
    )
      return url;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`the server did not answer: ${words()}`);
}

function projectRoot(from: string): string {
  return existsSync(join(from, 'package-lock.json')) ? from : projectRoot(dirname(from));
}
