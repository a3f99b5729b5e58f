import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { WebSocket } from 'ws';
import { GuestDriver } from './guest-driver.ts';
import { type TestServer, testServer } from './server.ts';

/** A server with one sandbox in which a real guest runs, and its client, with WebSockets and without. */
export interface InsideWorld {
  readonly server: TestServer;
  readonly driver: GuestDriver;
  readonly caisson: Caisson;
  readonly sandbox: SandboxHandle;
  readonly plain: SandboxHandle;
  close(): Promise<void>;
}

/** The sockets that the client opened; a test may break them. */
export const opened: WebSocket[] = [];

export const webSocket = (url: string, protocols: string[]) => {
  const socket = new WebSocket(url, protocols);
  opened.push(socket);
  return socket as never;
};

export async function insideWorld(): Promise<InsideWorld> {
  const driver = new GuestDriver();
  const server = await testServer({ drivers: [driver] });
  const caisson = new Caisson({ baseUrl: server.url, webSocket });
  const sandbox = await caisson.sandboxes.create();
  const plain = await new Caisson({ baseUrl: server.url }).sandboxes.get(sandbox.id);
  return {
    server,
    driver,
    caisson,
    sandbox,
    plain,
    async close() {
      await server.close();
      await driver.stopAll();
    },
  };
}

export async function collect(output: AsyncIterable<{ stream: string; bytes: Uint8Array }>) {
  const found: Record<string, string> = { stdout: '', stderr: '' };
  for await (const { stream, bytes } of output) found[stream] += Buffer.from(bytes).toString('latin1');
  return found;
}
