import { Caisson, type OpenedPort, type SandboxHandle } from '@caisson/sdk';
import { WebSocket } from 'ws';
import { SandboxWorld } from '../chaos/sandbox-world.ts';
import { whyNoRuntime } from '../conformance/oci-world.ts';
import { request } from '../e2e/unix-request.ts';
import { type EngineName, type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { previewApp } from './preview-app.ts';
import { type Visit, type Visited, visit } from './visit.ts';

/** What sandboxes run on: a runtime of ours, or an engine. */
export type PreviewRuntime = 'runc' | 'runsc' | EngineName;

const isEngine = (runtime: PreviewRuntime): runtime is EngineName => runtime === 'docker' || runtime === 'podman';

/** Why there is no such runtime here; undefined when there is one. */
export function whyNoPreviews(runtime: PreviewRuntime): string | undefined {
  return isEngine(runtime) ? whyNoEngine(runtime) : whyNoRuntime(runtime);
}

const acme = { tenant: 'acme', project: 'web', principal: 'ada', scope: 'use' };

/** A server with keys for two tenants, and sandboxes of a runtime in which the programs of these tests listen. */
export class PreviewWorld {
  readonly runtime: PreviewRuntime;
  readonly world = new SandboxWorld();
  readonly keys: Record<string, string> = {};
  #engine: RealEngine | undefined;

  constructor(runtime: PreviewRuntime) {
    this.runtime = runtime;
  }

  /** `more`: what else `caisson serve` is given. */
  async start(more: readonly string[] = []): Promise<void> {
    if (isEngine(this.runtime)) this.#engine = await startEngine(this.runtime, ['node']);
    await this.#begin(more);
    const owners = {
      ada: acme,
      looker: { ...acme, principal: 'eve', scope: 'read' },
      boss: { ...acme, principal: 'boss', scope: 'admin' },
      stranger: { ...acme, tenant: 'evil', scope: 'admin' },
    };
    for (const [name, owner] of Object.entries(owners)) this.keys[name] = (await this.makeKey(name, owner)).secret;
  }

  /** Another server on the same data. */
  async restart(): Promise<void> {
    await this.world.stop();
    await this.#begin([]);
  }

  async #begin(more: readonly string[]): Promise<void> {
    if (!this.#engine) await this.world.start(more);
    else await this.world.start([...more, `--${this.runtime}-host`, this.#engine.host], [this.runtime]);
  }

  async close(): Promise<void> {
    try {
      await this.#destroyAll();
    } finally {
      await this.world.close();
      await this.#engine?.close();
    }
  }

  async #destroyAll(): Promise<void> {
    const all: SandboxHandle[] = [];
    for await (const sandbox of this.client().sandboxes.list()) all.push(sandbox);
    await Promise.all(all.map((sandbox) => sandbox.destroy()));
  }

  client(key = 'ada'): Caisson {
    const webSocket = (url: string, protocols: string[]) => new WebSocket(url, protocols) as never;
    return new Caisson({ baseUrl: this.world.server.url, retries: 0, apiKey: this.keys[key], webSocket });
  }

  /** A sandbox in which the programs of these tests listen already. */
  async sandbox(options: { autoResume?: boolean } = {}): Promise<SandboxHandle> {
    const network = { mode: 'off' };
    const source = { kind: 'none' };
    const spec = isEngine(this.runtime)
      ? { source, os: { family: 'image', reference: 'localhost/tools:latest' }, runtime: { network } }
      : { source, os: 'host', runtime: { ociRuntime: this.runtime, network } };
    const sandbox = await this.client().sandboxes.create({ spec, autoResume: options.autoResume ?? true });
    await this.listen(sandbox);
    return sandbox;
  }

  async listen(sandbox: SandboxHandle): Promise<void> {
    await sandbox.processes.start(['node', '-e', previewApp], { tags: ['app'] });
    await sandbox.ports.wait(3000, { timeoutSeconds: 30 });
    await sandbox.ports.wait(3001, { timeoutSeconds: 30 });
  }

  async makeKey(name: string, owner: object = acme): Promise<{ id: string; secret: string }> {
    const { body } = await request(`${this.world.folder}/server.sock`, 'POST', '/v1/keys', { name, ...owner });
    return { id: String(body.id), secret: String(body.secret) };
  }

  async revoke(key: string): Promise<void> {
    await this.client('boss').keys.revoke(key);
  }
}

/** The URL of a path below a port that is open. */
export function at(share: Pick<OpenedPort, 'url'>, path: string): string {
  return new URL(path, share.url ?? '').href;
}

export function byPath(share: Pick<OpenedPort, 'pathUrl'>, path: string): string {
  return `${share.pathUrl}${path.replace(/^\//, '')}`;
}

/** Follows the redirect of a link or a token as a browser does, with the cookie that it got. */
export async function enter(url: string): Promise<{ cookie: string; location: string; first: Visited }> {
  const first = await visit({ url });
  const cookie = first.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  return { cookie, location: new URL(first.headers.location ?? '', url).href, first };
}

/** What of an answer a stranger could learn something from. */
export async function shapeOf(wanted: Visit): Promise<{ status: number; headers: object; text: string }> {
  const { status, headers, text } = await visit(wanted);
  const { date: _, ...rest } = headers;
  return { status, headers: rest, text };
}
