import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuestClient, type GuestConnection, GuestListener, type Secrets } from '../src/index.ts';

/** Why a real guest cannot be started here; undefined when it can. */
export function whyNoGuest(): string | undefined {
  return process.getuid?.() === 0 ? undefined : 'needs root to make a PID namespace';
}

export interface StartOptions {
  readonly binary: string;
  /** Programs to run it under, such as valgrind. */
  readonly wrapper?: readonly string[];
  /** Programs to make its namespaces under, such as nsenter. */
  readonly outer?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface StartedGuest {
  readonly client: GuestClient;
  readonly connection: () => GuestConnection;
  readonly listener: () => GuestListener;
  /** What the guest wrote to stderr so far: sanitizers speak there. */
  readonly log: () => string;
  readonly folder: string;
  readonly child: ChildProcess;
  /** The pid of the guest as this machine sees it. */
  readonly pid: () => Promise<number>;
  /** The server goes away without a word, and a new one comes. */
  readonly loseServer: () => Promise<void>;
  readonly bringServer: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * The files of the machine with a private /home, /etc/passwd and /etc/group, so that nothing a test does to them is
 * seen outside; the guest is PID 1 of a PID namespace of its own.
 */
const prepare = `
set -e
mount --make-rprivate /
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/group" /etc/group
mount -t tmpfs -o mode=755 tmpfs /home
shift
exec "$@"
`;

export async function startGuest(options: StartOptions): Promise<StartedGuest> {
  const folder = await mkdtemp(join(tmpdir(), 'caisson-guest-'));
  // The guest's user may look into it; the socket is open to all who can.
  await chmod(folder, 0o755);
  await copyFile('/etc/passwd', join(folder, 'passwd'));
  await copyFile('/etc/group', join(folder, 'group'));
  const path = join(folder, 'guest.sock');
  let secrets: Secrets = { current: randomBytes(32), next: randomBytes(32) };
  const first = secrets.current;
  const client = new GuestClient({ patienceMs: 10_000 });
  const sandboxId = 'sbxabcdefghij0123456789';
  let connected = () => {};
  const makeListener = () =>
    new GuestListener({
      path,
      sandboxId,
      incarnation: 1,
      secrets,
      storeSecrets: (next) => {
        secrets = next;
      },
      onConnection: (connection) => {
        client.use(connection);
        connected();
      },
    });
  let listener = makeListener();
  await listener.listen();
  const ready = new Promise<void>((resolve) => {
    connected = resolve;
  });
  const argv = [...(options.wrapper ?? []), options.binary, 'guest', '--socket', path, '--sandbox', sandboxId];
  const [command = 'unshare', ...before] = [...(options.outer ?? []), 'unshare'];
  const child = spawn(
    command,
    [
      ...[...before, '-pf', '-m', '--mount-proc', '--kill-child', 'sh', '-c', prepare, 'sh', folder],
      ...[...argv, '--incarnation', '1', '--secret-fd', '3', '--create-user'],
    ],
    {
      stdio: ['ignore', 'inherit', 'pipe', 'pipe'],
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...options.env },
    },
  );
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-65_536);
  });
  const pipe = child.stdio[3] as NodeJS.WritableStream;
  pipe.end(first);
  const failed = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`the guest ended with ${code}: ${log}`)));
  });
  failed.catch(() => {});
  await Promise.race([ready, failed]);
  return {
    client,
    folder,
    child,
    log: () => log,
    listener: () => listener,
    connection: () => {
      const connection = client.connection;
      if (connection === undefined) throw new Error('not connected');
      return connection;
    },
    pid: async () => {
      const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
      return Number(children.trim().split(' ')[0]);
    },
    loseServer: async () => {
      await listener.close();
    },
    bringServer: async () => {
      listener = makeListener();
      await listener.listen();
    },
    stop: async () => {
      client.close();
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await new Promise((done) => child.once('exit', done));
      await listener.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
