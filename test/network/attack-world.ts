import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, type EgressRecord, type SandboxHandle } from '@caisson/sdk';
import { WebSocket } from 'ws';
import type { ServerOptions } from '../../packages/server/src/main.ts';
import { proxyPorts } from '../../packages/server/src/network/proxy-ports.ts';
import type { EgressSettings } from '../../packages/server/src/open-egress.ts';
import { type TestServer, testServer } from '../e2e/server.ts';
import { slowness } from '../slowness.ts';

/** What the attacks need of a backend: every driver with our guest has it. */
export interface NetworkUnderAttack {
  readonly name: string;
  /** Why there can be no sandboxes of it here; undefined when there can. */
  readonly why: string | undefined;
  /** As in `--driver`. */
  readonly driver: string;
  /** What of a spec makes a sandbox of this backend in which there is a shell, and `curl`. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** What of `runtime` goes with it. */
  readonly runtime: Readonly<Record<string, unknown>>;
  /** Brings the backend up where a test has to, and gives what the server is told of it. */
  readonly begin?: () => Promise<Partial<ServerOptions>>;
  /** The guest's own socket without a path, where it cannot dial: it answers root alone. */
  readonly guestSocket?: string;
  /** Root inside can end the guest, and with it the sandbox. */
  readonly mayEndGuest?: boolean;
}

/** Everything outside: keeps what it hears, and answers each connection's bytes with a short page. */
export class Outside {
  readonly #server: Server;
  readonly open = new Set<Socket>();
  heard = '';
  port = 0;
  answer = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhere\n';

  constructor() {
    this.#server = createServer((socket) => {
      this.open.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => this.open.delete(socket));
      socket.on('data', (bytes) => {
        this.heard += bytes.toString('latin1');
        socket.write(this.answer);
      });
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** How many requests for this path it heard. */
  count(path: string): number {
    return this.heard.split(` ${path} HTTP/1.1\r\n`).length - 1;
  }

  close(): void {
    for (const socket of this.open) socket.destroy();
    this.#server.close();
  }
}

/** A server with sandboxes of one backend. Nothing private is open to them but the one port of `outside`. */
export class AttackWorld {
  readonly outside = new Outside();
  /** Every name that was looked up. */
  readonly asked: string[] = [];
  /** What a name is resolved to, at each lookup anew. */
  readonly names = new Map<string, () => readonly string[]>();
  readonly #under: NetworkUnderAttack;
  #server: TestServer | undefined;

  constructor(under: NetworkUnderAttack) {
    this.#under = under;
  }

  get url(): string {
    return this.#server?.url ?? '';
  }

  /** What stands in a request for it. */
  get ok(): string {
    return `ok.test:${this.outside.port}`;
  }

  async start(): Promise<void> {
    await this.outside.listen();
    for (const name of ['ok.test', 'bad.test']) this.names.set(name, () => ['127.0.0.1']);
    const resolve = async (name: string) => {
      this.asked.push(name);
      return this.names.get(name)?.() ?? [];
    };
    const egress: EgressSettings = { open: [`127.0.0.1:${this.outside.port}`], resolver: { resolve } };
    const folder = mkdtempSync(join(tmpdir(), 'caisson-attack-'));
    mkdirSync(join(folder, 'profiles'));
    const warm = { name: 'warm', version: 1, spec: this.spec({}), pool: { min: 1, max: 1 } };
    writeFileSync(join(folder, 'profiles', 'warm.json'), JSON.stringify(warm));
    const more = await this.#under.begin?.();
    this.#server = await testServer({ drivers: [this.#under.driver], egress, ...more }, folder);
  }

  async restart(): Promise<void> {
    this.#server = await this.#server?.restart();
  }

  async close(): Promise<void> {
    const client = this.client();
    await client.pools.set('warm', { min: 0, max: 0 });
    const all: SandboxHandle[] = [];
    for await (const sandbox of client.sandboxes.list()) all.push(sandbox);
    await Promise.all(all.map((sandbox) => sandbox.destroy()));
    await until(async () => (await client.pools.list()).every(({ ready, making }) => ready + making === 0));
    await this.#server?.close();
    this.outside.close();
  }

  client(): Caisson {
    const webSocket = (url: string, protocols: string[]) => new WebSocket(url, protocols) as never;
    return new Caisson({ baseUrl: this.url, retries: 0, webSocket });
  }

  /** Names decide, and only one is allowed, unless something else is said. */
  spec(network: Record<string, unknown>, runtime: Record<string, unknown> = {}): Record<string, unknown> {
    const rules = { mode: 'allowlist', allow: ['ok.test'], ...network };
    return { ...this.#under.spec, runtime: { ...this.#under.runtime, ...runtime, network: rules } };
  }

  async sandbox(network: Record<string, unknown> = {}, runtime: Record<string, unknown> = {}): Promise<SandboxHandle> {
    return this.client().sandboxes.create({ spec: this.spec(network, runtime) as never });
  }

  /** What `curl` inside is answered: the status, or 0 when there was none. */
  async fetch(sandbox: SandboxHandle, url: string, user = 'user'): Promise<{ status: number; text: string }> {
    const script = `curl -sS -L -m 20 -w '\\n%{http_code}' ${url} 2>&1`;
    const { stdout } = await sandbox.exec(['sh', '-c', script], { user });
    const at = stdout.trimEnd().lastIndexOf('\n');
    return { status: Number(stdout.slice(at + 1)), text: stdout.slice(0, at) };
  }

  /** Both sides of the rules: what they allow passes, what they do not is refused. */
  async rulesHold(sandbox: SandboxHandle): Promise<{ ok: number; bad: number; why: string }> {
    const ok = await this.fetch(sandbox, `http://${this.ok}/`);
    const bad = await this.fetch(sandbox, `http://bad.test:${this.outside.port}/`);
    return { ok: ok.status, bad: bad.status, why: /\((\w+)\)/.exec(bad.text)?.[1] ?? bad.text };
  }

  /** What the journal has of a sandbox. */
  async journal(sandbox: SandboxHandle): Promise<EgressRecord[]> {
    const records: EgressRecord[] = [];
    for await (const record of sandbox.egress.log()) records.push(record);
    return records;
  }
}

export const held = { ok: 200, bad: 403, why: 'not_allowed' };

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200 * slowness && !(await isSo()); tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
}

/** For the first answer, and for more of it on a connection that stays open. */
const answerMs = 5_000;
const quietMs = 1_000;

/** Bytes to a port of the proxy inside, as any program there could send them, and what comes back until it ends. */
export async function tell(
  sandbox: SandboxHandle,
  bytes: string | Buffer,
  door: 'http' | 'socks' = 'http',
): Promise<string> {
  const connection = await sandbox.ports.connect(proxyPorts[door]);
  let deadline = setTimeout(() => connection.close(), answerMs * slowness);
  const pieces: Uint8Array[] = [];
  try {
    await connection.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    for await (const piece of connection) {
      pieces.push(piece);
      clearTimeout(deadline);
      deadline = setTimeout(() => connection.close(), quietMs * slowness);
    }
  } catch {
    // Cut off.
  } finally {
    clearTimeout(deadline);
    connection.close();
  }
  return Buffer.concat(pieces).toString('latin1');
}
