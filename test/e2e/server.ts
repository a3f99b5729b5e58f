import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningServer, type ServerOptions, startServer } from '../../packages/server/src/main.ts';

/** A server of a test's own, in this process, on a free port of loopback and a socket in a temporary folder. */
export interface TestServer {
  readonly server: RunningServer;
  readonly url: string;
  readonly folder: string;
  /** Closes it and starts another one on the same folder. */
  restart(): Promise<TestServer>;
  close(): Promise<void>;
}

export async function testServer(
  options: Partial<ServerOptions> = {},
  folder = mkdtempSync(join(tmpdir(), 'caisson-api-')),
): Promise<TestServer> {
  const server = await startServer({
    dataFolder: folder,
    listen: ['127.0.0.1:0'],
    allowHosts: [],
    drivers: ['fake'],
    destroyOnExit: false,
    logLevel: process.env.TEST_LOG ?? 'silent',
    version: '0.0.0-test',
    reconcileSeconds: 1,
    ...options,
  });
  await server.ready;
  const url = server.addresses.find((address) => address.startsWith('http')) ?? '';
  return {
    server,
    url,
    folder,
    async restart() {
      await server.close();
      return testServer(options, folder);
    },
    async close() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface Reply {
  readonly status: number;
  // The answers of a server under test are looked at from all sides.
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  readonly body: any;
  readonly headers: Headers;
}

export async function call(
  url: string,
  method: string,
  path: string,
  options: { body?: unknown; key?: string; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const { body, key, headers } = options;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = /json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, body: json ? JSON.parse(text) : text, headers: response.headers };
}
