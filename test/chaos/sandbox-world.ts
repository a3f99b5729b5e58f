import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { WebSocket } from 'ws';
import { mountsBelow } from '../../packages/server/src/storage/layered/mounts.ts';
import { openStore } from '../../packages/server/src/store/store.ts';
import { unmountPoolOf } from '../pools.ts';
import { type ServerProcess, startServerProcess } from '../server-process.ts';
import { cgroupsOf, leftovers, namespacesOf, processName } from './leftovers.ts';

export const spec = { source: { kind: 'none' }, os: 'host', runtime: { network: { mode: 'off' } } };

/** Why there can be no real sandboxes here; undefined when there can. */
export const whyNoSandboxes = process.getuid?.() === 0 ? undefined : 'real sandboxes need root';

export type StorageName = 'overlay' | 'btrfs';

/** A server in a process of its own with real sandboxes, which can be killed and started again at the same address. */
export class SandboxWorld {
  readonly folder: string;
  readonly #storage: StorageName;
  readonly #sandboxes = new Set<string>();
  readonly #namespaces = new Set<string>();
  readonly #helpers = new Set<string>();
  readonly #pins: number[] = [];
  #server: ServerProcess | undefined;
  #port: number | undefined;
  #runtimeFolder: string | undefined;

  /** In a folder of its own, unless one is given, which must be empty. */
  constructor({ storage = 'overlay', folder }: { storage?: StorageName; folder?: string } = {}) {
    this.#storage = storage;
    this.folder = folder ?? mkdtempSync(join(tmpdir(), 'caisson-real-'));
    chmodSync(this.folder, 0o700);
  }

  get server(): ServerProcess {
    if (!this.#server) throw new Error('no server runs');
    return this.#server;
  }

  async start(more: readonly string[] = [], drivers: readonly string[] = ['oci']): Promise<ServerProcess> {
    const env = { CAISSON_STORAGE: this.#storage };
    this.#server = await startServerProcess(this.folder, { drivers, port: this.#port, more, env });
    this.#port = Number(new URL(this.#server.url).port);
    return this.#server;
  }

  async kill(): Promise<void> {
    this.#noteHelpers();
    await this.server.kill();
  }

  async stop(): Promise<void> {
    this.#noteHelpers();
    await this.server.stop();
  }

  /** A client that outlives servers; it repeats nothing by itself, so that a test knows what was asked. */
  client(options: { retries?: number; sockets?: boolean; apiKey?: string | undefined } = {}): Caisson {
    const { retries = 0, sockets = false, apiKey } = options;
    const webSocket = (url: string, protocols: string[]) => new WebSocket(url, protocols) as never;
    return new Caisson({ baseUrl: this.server.url, retries, apiKey, ...(sockets ? { webSocket } : {}) });
  }

  async runtimeFolder(): Promise<string> {
    for await (const { source } of this.client().events({ follow: false })) {
      this.#runtimeFolder = join('/run', source);
      break;
    }
    if (!this.#runtimeFolder) throw new Error('there has been no sandbox yet');
    return this.#runtimeFolder;
  }

  /** Remembers what there is of a sandbox on the host, to look for it when it should be gone. Answers its first process. */
  async note(sandbox: SandboxHandle): Promise<number> {
    this.#sandboxes.add(sandbox.id);
    const { incarnation } = sandbox.record;
    const runtime = this.#runtimeFolder ?? (await this.runtimeFolder());
    const pid = Number(readFileSync(join(runtime, 'oci', 'instances', `${sandbox.id}.${incarnation}`, 'pid'), 'utf8'));
    this.#pinNamespaces(pid);
    return pid;
  }

  /** Every sandbox that the record knows, for `leftovers`. */
  async noteAll(): Promise<void> {
    await this.runtimeFolder();
    for await (const { id } of this.client().sandboxes.list({ all: true })) this.#sandboxes.add(id);
  }

  async destroyAll(): Promise<void> {
    const all: SandboxHandle[] = [];
    for await (const sandbox of this.client().sandboxes.list()) all.push(sandbox);
    await Promise.all(all.map((sandbox) => sandbox.destroy()));
  }

  leftovers(): Promise<string[]> {
    return leftovers({
      dataFolder: this.folder,
      runtimeFolder: this.#runtimeFolder ?? join(this.folder, 'run'),
      sandboxes: this.#sandboxes,
      namespaces: this.#namespaces,
      helpers: this.#helpers,
    });
  }

  /** What a restart of the machine does to an installation whose server has ended: only the data folder is left. */
  async wipe(): Promise<void> {
    const runtime = this.#runtimeFolder;
    unmountPoolOf(this.folder);
    for (const cgroup of cgroupsOf(this.#sandboxes)) for (const pid of pidsIn(cgroup)) killIfThere(pid);
    for (const folder of [this.folder, ...(runtime ? [runtime] : [])]) {
      for (const point of await mountsBelow(folder)) execFileSync('umount', ['--lazy', point]);
      // Below a mount there are files of the host.
      if ((await mountsBelow(folder)).length > 0) throw new Error(`there are still mounts below ${folder}`);
    }
    if (runtime) rmSync(runtime, { recursive: true, force: true });
  }

  /** Leaves nothing on the machine, whatever the test left. */
  async close(): Promise<void> {
    await this.#server?.kill();
    if (this.#server) this.#runtimeFolder ??= join('/run/caisson', await this.#installation());
    this.#noteInstances();
    for (const pin of this.#pins.splice(0)) closeSync(pin);
    await this.wipe();
    for (const cgroup of cgroupsOf(this.#sandboxes)) execFileSync('rmdir', ['--ignore-fail-on-non-empty', cgroup]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Also those that no test has noted: a server that is killed leaves them running. */
  #noteInstances(): void {
    const instances = join(this.#runtimeFolder ?? this.folder, 'oci', 'instances');
    const names = existsSync(instances) ? readdirSync(instances) : [];
    for (const name of names) this.#sandboxes.add(name.slice(0, name.indexOf('.')));
  }

  /**
   * Held open, so that the kernel gives their numbers to nobody else. The one of the mounts would hold the sandbox's disk:
   * whether that one is gone is seen at the disk.
   */
  #pinNamespaces(pid: number): void {
    const own = new Set(namespacesOf('self'));
    for (const kind of ['pid', 'net', 'ipc', 'uts', 'user']) {
      const path = `/proc/${pid}/ns/${kind}`;
      const name = readlinkSync(path);
      if (own.has(name) || this.#namespaces.has(name)) continue;
      this.#pins.push(openSync(path, 'r'));
      this.#namespaces.add(name);
    }
  }

  /** Of a server that has ended: its record knows. */
  async #installation(): Promise<string> {
    const store = await openStore({ sqlite: join(this.folder, 'caisson.db') });
    await store.close();
    return store.installation;
  }

  #noteHelpers(): void {
    const { pid } = this.server;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
    for (const child of children) {
      const name = processName(child);
      if (name !== undefined) this.#helpers.add(name);
    }
  }
}

function pidsIn(cgroup: string): number[] {
  try {
    return readFileSync(join(cgroup, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    // It went between the two looks.
    return [];
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
