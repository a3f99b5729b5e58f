import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFacts } from '@caisson/server';
import { startServerProcess } from '../test/server-process.ts';
import { Connection } from './connection.ts';
import { inTemporaryFolder } from './temporary.ts';

/** The machine's own programs and no network: nothing is fetched, nothing depends on the weather outside. */
const spec = { source: { kind: 'none' }, os: 'host', runtime: { network: { mode: 'off' } } };

/** A profile of the same spec, for those who want a warm pool of it. */
export const pooledProfile = 'pooled';

interface Executed {
  readonly exitCode: number | null;
  readonly stdout: string;
}

/** A server with real sandboxes in a process of its own, as its clients see it. */
export class SandboxServer {
  readonly connection: Connection;
  readonly pid: number;
  readonly #ids = new Set<string>();

  constructor(url: string, pid: number) {
    this.connection = new Connection({ url });
    this.pid = pid;
  }

  /** `wanted`: what to ask for in place of a spec, such as a profile. */
  async create(wanted: object = { spec }): Promise<string> {
    const { id, state } = await this.connection.json<{ id: string; state: string }>('POST', '/v1/sandboxes', wanted);
    this.#ids.add(id);
    if (state !== 'ready') throw new Error(`${id} is ${state}`);
    return id;
  }

  async exec(id: string, command: readonly string[]): Promise<Executed> {
    const done = await this.connection.json<Executed>('POST', `/v1/sandboxes/${id}/exec`, { command });
    if (done.exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${done.exitCode}`);
    return done;
  }

  /** New sandboxes from a live one, when all of them are ready. */
  async fork(id: string, count: number): Promise<string[]> {
    const { items } = await this.connection.json<{ items: { id: string; state: string }[] }>(
      'POST',
      `/v1/sandboxes/${id}/fork`,
      { count },
    );
    for (const item of items) this.#ids.add(item.id);
    const late = items.find(({ state }) => state !== 'ready');
    if (late) throw new Error(`${late.id} is ${late.state}`);
    return items.map((item) => item.id);
  }

  async destroy(id: string): Promise<void> {
    await this.connection.json('DELETE', `/v1/sandboxes/${id}`);
    this.#ids.delete(id);
  }

  async destroyAll(): Promise<void> {
    for (const id of [...this.#ids]) await this.destroy(id);
  }

  /** Sets the size of the warm pool of the profile that comes with this server, and waits until it has it. */
  async fillPool(size: number): Promise<void> {
    await this.connection.json('PUT', `/v1/pools/${pooledProfile}`, { min: size, max: size });
    while ((await this.pool()).ready !== size) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async pool(): Promise<{ ready: number; misses: number }> {
    const { items } = await this.connection.json<{ items: { ready: number; misses: number }[] }>('GET', '/v1/pools');
    return items[0] ?? { ready: 0, misses: 0 };
  }
}

/** Work with a server, started with these options too, that has made a sandbox before: the base is prepared, and its code is warm. */
export async function withSandboxServer<T>(
  work: (server: SandboxServer) => Promise<T>,
  more: readonly string[] = [],
): Promise<T> {
  return await inTemporaryFolder(async (folder) => {
    mkdirSync(join(folder, 'profiles'));
    writeFileSync(join(folder, 'profiles', 'pooled.json'), JSON.stringify({ name: pooledProfile, version: 1, spec }));
    const process = await startServerProcess(folder, { drivers: ['oci'], more: ['--destroy-on-exit', ...more] });
    const server = new SandboxServer(process.url, readFacts(folder)?.pid ?? 0);
    let runtimeFolder: string | undefined;
    try {
      const id = await server.create();
      await server.exec(id, ['/bin/true']);
      runtimeFolder = join(bundleOf(id), '..', '..', '..');
      await server.destroy(id);
      return await work(server);
    } finally {
      await server.destroyAll().catch((error: Error) => console.error(`bench: left behind: ${error.message}`));
      server.connection.close();
      await process.stop();
      if (runtimeFolder !== undefined) removeRuntimeFolder(runtimeFolder);
    }
  });
}

/** The folder that the driver gave to its runtime for this sandbox, config.json and all. */
export function bundleOf(id: string): string {
  const root = '/run/caisson';
  const found = readdirSync(root)
    .map((installation) => join(root, installation, 'oci', 'instances', `${id}.1`))
    .find((folder) => existsSync(folder));
  if (found === undefined) throw new Error(`there is no bundle of ${id}`);
  return found;
}

/** What goes with the machine's next start goes now. A sandbox that is still mounted keeps it from being removed. */
function removeRuntimeFolder(folder: string): void {
  rmdirSync(join(folder, 'rootfs'));
  rmSync(folder, { recursive: true, force: true });
}

/** Why there can be no real sandboxes here. */
export function whyNoSandboxes(): string | undefined {
  return process.getuid?.() === 0 ? undefined : 'real sandboxes need root';
}
