import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Duplex } from 'node:stream';

export interface SshTarget {
  readonly destination: string;
  readonly port?: number | undefined;
}

/** More of what ssh says is of no use in an error. */
const lastWords = 2_000;

/**
 * A stream to an engine behind ssh, by the machine's own `ssh`: its configuration, keys, agent and known hosts are the
 * user's, and a host whose key is not known is refused. It asks nobody anything.
 */
export function connectOverSsh({ destination, port }: SshTarget, command: readonly string[]): Duplex {
  const options = ['-o', 'BatchMode=yes', '-o', 'ConnectTimeout=15', '-o', 'ServerAliveInterval=15', '-T'];
  const where = [...(port === undefined ? [] : ['-p', String(port)]), '--', destination];
  const child = spawn('ssh', [...options, ...where, ...command], { stdio: ['pipe', 'pipe', 'pipe'] });
  return new ProgramStream(child);
}

/** What a program reads and writes. When it fails, what it said last is the error, and not the pipe that broke by it. */
class ProgramStream extends Duplex {
  readonly #child: ChildProcessWithoutNullStreams;
  #words = '';

  constructor(child: ChildProcessWithoutNullStreams) {
    super({ allowHalfOpen: true });
    this.#child = child;
    // Whoever uses it listens too; what comes after they stopped is nobody's.
    this.on('error', () => {});
    child.stdin.on('error', () => {});
    child.stdout.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) child.stdout.pause();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      this.#words = (this.#words + chunk).slice(-lastWords);
    });
    child.on('error', (error) => this.destroy(error));
    child.on('close', (code) => {
      const said = this.#words.trim().split('\n').at(-1) || 'it said nothing';
      if (code === 0) this.push(null);
      else this.destroy(new Error(`ssh ended with ${code}: ${said}`));
    });
  }

  /** As an agent asks of a socket that it takes again. */
  ref(): this {
    return this;
  }

  override _read(): void {
    this.#child.stdout.resume();
  }

  /** A write that fails waits for the end of the program, which says why. */
  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#child.stdin.write(chunk, (error) => {
      if (!error) done();
    });
  }

  override _final(done: () => void): void {
    this.#child.stdin.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#child.kill('SIGTERM');
    done(error);
  }
}
