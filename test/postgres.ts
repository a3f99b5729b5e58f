import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** A real Postgres of a test's own: a cluster in a temporary folder, reached by a unix socket in it. */
export interface Postgres {
  /** The URL of a new, empty database. */
  database(): string;
  /** Stops it as a crash would, and starts it again. */
  crash(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Postgres refuses to run as root; nobody owns nothing else that could be harmed. */
const nobody = 65_534;

export function postgresBin(): string | undefined {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql').sort().reverse() : [];
  const folders = [
    ...versions.map((version) => `/usr/lib/postgresql/${version}/bin`),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}

/** A crash of the machine is no part of a test, so it need not wait for the disk; a benchmark wants it as it ships. */
export async function startPostgres({ durable = false } = {}): Promise<Postgres> {
  const bin = postgresBin();
  if (bin === undefined) throw new Error('Postgres is not installed; `npm run setup` as root on Debian installs it');
  const folder = mkdtempSync(join(tmpdir(), 'caisson-pg-'));
  const root = process.getuid?.() === 0;
  const identity = root ? { uid: nobody, gid: nobody } : {};
  if (root) chownSync(folder, nobody, nobody);
  const data = join(folder, 'data');
  const run = (program: string, args: string[]) =>
    execFileSync(join(bin, program), args, { ...identity, cwd: folder, stdio: 'pipe' });
  run('initdb', ['-D', data, '-U', 'caisson', '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C']);
  let server: ReturnType<typeof spawn> | undefined;
  let count = 0;

  async function start(): Promise<void> {
    const settings = [
      '-c',
      'listen_addresses=',
      '-c',
      `unix_socket_directories=${folder}`,
      '-c',
      'max_connections=60',
      ...(durable ? [] : ['-c', 'fsync=off']),
    ];
    const started = spawn(join(bin as string, 'postgres'), ['-D', data, ...settings], {
      ...identity,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server = started;
    await new Promise<void>((resolve, reject) => {
      let words = '';
      started.stderr?.on('data', (chunk: Buffer) => {
        words = (words + chunk).slice(-4000);
        if (words.includes('ready to accept connections')) resolve();
      });
      started.once('exit', () => reject(new Error(`Postgres ended: ${words}`)));
    });
  }

  async function crash(): Promise<void> {
    const ended = server && new Promise((resolve) => server?.once('exit', resolve));
    // SIGQUIT is Postgres' own immediate shutdown: no checkpoint, no goodbye, its children with it.
    server?.kill('SIGQUIT');
    await ended;
    server = undefined;
  }

  await start();
  const end = () => server?.kill('SIGQUIT');
  process.once('exit', end);
  return {
    start,
    crash,
    database() {
      count += 1;
      run('createdb', ['-h', folder, '-U', 'caisson', `db${count}`]);
      return `postgres://caisson@localhost/db${count}?host=${encodeURIComponent(folder)}`;
    },
    async close() {
      process.off('exit', end);
      await crash();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
