import { spawn } from 'node:child_process';
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
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk).slice(-lastWords);
  });
  const stream = Duplex.from({ readable: child.stdout, writable: child.stdin });
  // Whoever uses it listens too; what comes after they stopped is nobody's.
  stream.on('error', () => {});
  child.stdin.on('error', () => {});
  child.on('error', (error) => stream.destroy(error));
  child.on('close', (code) => {
    const said = words.trim().split('\n').at(-1);
    stream.destroy(code === 0 ? undefined : new Error(`ssh ended with ${code}: ${said || 'it said nothing'}`));
  });
  stream.on('close', () => child.kill('SIGTERM'));
  return stream;
}
