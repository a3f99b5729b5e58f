import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Caisson, type OpenedPort, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Forwarder } from '../../packages/cli/src/ports/forward.ts';
import { whyNoGuest } from '../../packages/guest/testing/start-guest.ts';
import { skip } from '../conformance/skips.ts';
import { GuestDriver } from '../e2e/guest-driver.ts';
import { webSocket } from '../e2e/inside-world.ts';
import { type TestServer, testServer } from '../e2e/server.ts';
import { at } from './preview-world.ts';
import { open, rawSocket, sendRaw, visit } from './visit.ts';

/** Bounds of previews, with a real guest on the ports of this machine and a server in this process. */
describe('the bounds of previews', () => {
  const why = whyNoGuest();
  const driver = new GuestDriver();
  let server: TestServer;
  let app: Server;
  let sandbox: SandboxHandle;
  let share: OpenedPort;
  let port = 0;
  let waiting = 0;

  beforeAll(async () => {
    if (why !== undefined) return;
    server = await testServer({ drivers: [driver], requestTimeoutMs: 500, previewListen: ['127.0.0.1:0'] });
    app = createServer((request, response) => {
      if (request.url === '/hold') {
        waiting += 1;
        response.on('close', () => {
          waiting -= 1;
        });
        return response.flushHeaders();
      }
      request.resume();
      request.on('end', () => response.end(`page ${request.url}`));
    });
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    port = (app.address() as AddressInfo).port;
    sandbox = await new Caisson({ baseUrl: server.url, webSocket }).sandboxes.create();
    share = await sandbox.ports.open(port, { visibility: 'public' });
  });
  afterAll(async () => {
    app?.closeAllConnections();
    app?.close();
    await server?.close();
    await driver.stopAll();
  });
  beforeEach((context) => {
    if (why !== undefined) skip(context, why);
  });

  test('a head that never ends is given up on', async () => {
    const { host } = new URL(share.url ?? '');
    const said = await sendRaw(server.url, `GET / HTTP/1.1\r\nHost: ${host}\r\nX-A`);
    expect(said).toMatch(/^HTTP\/1.1 408 /);
  });

  test('a head that is too long is refused', async () => {
    const { host } = new URL(share.url ?? '');
    const said = await sendRaw(server.url, `GET / HTTP/1.1\r\nHost: ${host}\r\nX-A: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(said).toMatch(/^HTTP\/1.1 431 /);
  });

  test('one address has so many requests at once, and gets in again when some have ended', async () => {
    const held: IncomingMessage[] = await Promise.all(
      Array.from({ length: 128 }, () => open({ url: at(share, '/hold') })),
    );
    for (const one of held) one.on('error', () => {});
    expect(waiting).toBe(128);
    expect((await visit({ url: at(share, '/') })).status).toBe(429);
    for (const one of held) one.destroy();
    await expect.poll(() => waiting).toBe(0);
    expect((await visit({ url: at(share, '/') })).status).toBe(200);
  });

  test('an address for previews alone has nothing of the API', async () => {
    const [alone = ''] = server.server.previewAddresses;
    expect(share.url).toContain(`:${new URL(alone).port}/`);
    for (const path of ['/v1/version', '/healthz', '/docs', '/metrics', '/']) {
      expect((await visit({ url: `${alone}${path}` })).status).toBe(404);
    }
    expect((await visit({ url: `${alone}/preview/${sandbox.id}/${port}/x` })).text).toBe('page /x');
    const said = await sendRaw(
      alone,
      'GET /v1/x HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    expect(said).toBe('');
  });

  test('an offer of another version of HTTP is ignored, and its body is not lost', async () => {
    const { host } = new URL(share.url ?? '');
    const socket = rawSocket(server.url);
    let said = '';
    socket.on('data', (bytes) => {
      said += bytes;
    });
    const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';
    socket.write(`POST /offer HTTP/1.1\r\nHost: ${host}\r\n${offer}Content-Length: 5\r\n\r\nhello`);
    await expect.poll(() => said).toContain('page /offer');
    socket.destroy();
  });

  test('a kept connection that the port has closed is no failure', async () => {
    expect((await visit({ url: at(share, '/1') })).status).toBe(200);
    app.closeAllConnections();
    expect((await visit({ url: at(share, '/2') })).text).toBe('page /2');
  });

  test('a local port leads to one inside, for many at once, and tells its troubles once', async () => {
    const notes: string[] = [];
    const ending = new AbortController();
    const forwarder = new Forwarder(sandbox, port, ending.signal, (text) => notes.push(text));
    const local = await forwarder.listen('127.0.0.1', 0);
    const pages = Array.from({ length: 20 }, (_, n) => fetch(`http://127.0.0.1:${local}/${n}`));
    const texts = await Promise.all((await Promise.all(pages)).map((page) => page.text()));
    expect(texts).toEqual(texts.map((_, n) => `page /${n}`));
    const closed = new Forwarder(sandbox, 1, ending.signal, (text) => notes.push(text));
    const nowhere = await closed.listen('127.0.0.1', 0);
    for (let n = 0; n < 2; n += 1) await expect(fetch(`http://127.0.0.1:${nowhere}/`)).rejects.toThrow();
    expect(notes).toEqual([`nothing listens on port 1 in ${sandbox.id}`]);
    ending.abort();
    await Promise.all([forwarder.close(), closed.close()]);
  });

  test('a sandbox has so many open ports and no more', async () => {
    const other = await new Caisson({ baseUrl: server.url }).sandboxes.create();
    for (let n = 1; n <= 64; n += 1) await other.ports.open(n);
    await expect(other.ports.open(65)).rejects.toMatchObject({ code: 'max_ports_reached' });
    await other.ports.open(64, { visibility: 'public' });
  });

  test('a server that ends does not wait for streams', async () => {
    const held = await open({ url: at(share, '/hold') });
    held.on('error', () => {});
    const began = Date.now();
    await server.server.close();
    expect(Date.now() - began).toBeLessThan(30_000);
  });
});
