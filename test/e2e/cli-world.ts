import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const bin = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'bin', 'caisson.mjs');

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A command that goes on: what it wrote so far, and its end. */
export interface Running {
  readonly child: ChildProcess;
  readonly done: Promise<Finished>;
  /** Resolves with the output as soon as it fits; rejects when the command ends before. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
}

/** A home of its own for the real `caisson` command. Whatever was started in it ends with it. */
export class CliWorld {
  readonly home = mkdtempSync(join(tmpdir(), 'caisson-e2e-'));
  readonly data = join(this.home, '.local', 'share', 'caisson');
  readonly #children = new Set<ChildProcess>();

  async run(args: readonly string[], options: { stdin?: string | Buffer; env?: Record<string, string> } = {}) {
    return this.start(args, options).done;
  }

  start(
    args: readonly string[],
    { stdin = '', env = {} }: { stdin?: string | Buffer; env?: Record<string, string> } = {},
  ): Running {
    const running = this.spawn(process.execPath, [bin, ...args], env);
    running.child.stdin?.end(stdin);
    return running;
  }

  /** The command on a terminal of its own, which takes what is written to its stdin as typed. Says its name first. */
  onTerminal(args: readonly string[], env: Record<string, string> = {}, size = 'cols 90 rows 25'): Running {
    const words = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ');
    const line = `tty; stty ${size}; ${words}; code=$?; stty -a; exit $code`;
    return this.spawn('script', ['-qefc', line, '/dev/null'], { TERM: 'xterm', SHELL: '/bin/sh', ...env });
  }

  spawn(command: string, args: readonly string[], env: Record<string, string>): Running {
    const { PATH = '' } = process.env;
    const child = spawn(command, args, {
      env: { PATH, HOME: this.home, CAISSON_DRIVERS: 'fake', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    let out = '';
    let err = '';
    let look = () => {};
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      look();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.stdin.on('error', () => {});
    const done = new Promise<Finished>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        this.#children.delete(child);
        resolve({ code, out, err });
      });
    });
    const until = (pattern: RegExp) =>
      new Promise<RegExpExecArray>((resolve, reject) => {
        look = () => {
          const found = pattern.exec(out);
          if (found) resolve(found);
        };
        look();
        done.then(({ code }) => reject(new Error(`it ended with ${code} before ${pattern}: ${out}${err}`)), reject);
      });
    return { child, done, until };
  }

  /** The same, with the result read from `--json`. */
  async json<T = Record<string, unknown>>(args: readonly string[], env: Record<string, string> = {}): Promise<T> {
    const { code, out, err } = await this.run([...args, '--json'], { env });
    if (code !== 0) throw new Error(`caisson ${args.join(' ')} ended with ${code}: ${err}`);
    return JSON.parse(out) as T;
  }

  /** Pids of the servers that were started for a folder of this world, however they were started. */
  servers(): number[] {
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
        const ours = words.includes('serve') && words.some((word) => word.startsWith(this.home));
        return ours ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
  }

  /** Also what a failed test left running. */
  async close(): Promise<void> {
    // The commands first: one that waits for its server would start another.
    for (const child of this.#children) child.kill('SIGKILL');
    for (const pid of this.servers()) kill(pid, 'SIGKILL');
    const deadline = Date.now() + 5_000;
    while (this.servers().length > 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    rmSync(this.home, { recursive: true, force: true });
  }
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
}
