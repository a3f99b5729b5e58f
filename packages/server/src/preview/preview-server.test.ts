import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { PreviewDoor } from './preview-door.ts';
import { createPreviewServer } from './preview-server.ts';

test('a client that offers another protocol with every request leaves nothing behind on its connection', async () => {
  const serve = (_: unknown, request: IncomingMessage, response: ServerResponse) => void response.end(request.url);
  const server = createPreviewServer({ find: () => ({}), serve } as unknown as PreviewDoor);
  let kept: Socket | undefined;
  server.on('connection', (socket) => {
    kept = socket;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let heard = '';
  client.on('data', (bytes) => {
    heard += bytes.toString();
  });
  const listeners = () => kept?.eventNames().map((name) => `${String(name)} ${kept?.listenerCount(name)}`);
  const ask = async (n: number) => {
    client.write(`GET /${n} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`);
    await expect.poll(() => heard, { interval: 1 }).toMatch(new RegExp(`/${n}$`));
  };
  await ask(1);
  await ask(2);
  const before = listeners();
  for (let n = 3; n < 20; n += 1) await ask(n);
  expect(listeners()).toEqual(before);
  client.destroy();
  server.close();
});
