import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { encodeMessage } from '../protocol/encode-message.ts';
import { encodeFrame } from '../protocol/frame.ts';
import { FrameDecoder } from '../protocol/frame-decoder.ts';
import { limits } from '../protocol/limits.ts';
import { goaway, hello } from '../protocol/messages.ts';
import { acceptGuest } from './accept-guest.ts';
import { GuestClient } from './guest-client.ts';
import type { GuestConnection } from './guest-connection.ts';
import { ProcessHandle } from './process-handle.ts';

/** A guest that code inside the sandbox has taken over: whatever it sends, the server goes on. */
const folders: string[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

async function hostile(): Promise<{ guest: Socket; client: GuestClient; connection: GuestConnection }> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-hostile-'));
  folders.push(folder);
  const welcome = { version: 1, initialWindow: limits.windowInitial, maxChannels: 100 };
  const accepted = new Promise<GuestConnection>((resolve, reject) => {
    const server = createServer((socket) => {
      sockets.push(socket);
      server.close();
      acceptGuest(socket, () => ({ welcome, secrets: undefined })).then(
        (made) => (made ? resolve(made) : reject(new Error('refused'))),
        reject,
      );
    }).listen(join(folder, 's'));
  });
  const guest = connect(join(folder, 's'));
  sockets.push(guest);
  const said = {
    minVersion: 1,
    maxVersion: 1,
    guestVersion: 'x',
    sandboxId: 'sbx',
    incarnation: 1,
    bootId: randomBytes(16),
    initialWindow: limits.windowInitial,
    maxChannels: 100,
  };
  guest.write(encodeFrame('hello', 0, encodeMessage(hello, said)));
  const connection = await accepted;
  const client = new GuestClient({ patienceMs: 200 });
  client.use(connection);
  return { guest, client, connection };
}

test('a guest that says goodbye and stays holds nobody up', async () => {
  const { guest, client } = await hostile();
  guest.write(encodeFrame('goaway', 0, encodeMessage(goaway, { reason: 'shutdown', message: '' })));
  await delay(50);
  const reading = (async () => {
    for await (const _ of client.processes.attach('prc00000000000000000001').stdout);
  })();
  await expect(reading).rejects.toMatchObject({ code: 'guest_unreachable' });
  await expect(client.info()).rejects.toMatchObject({ code: 'guest_unreachable' });
});

test('a guest that answers stdin with nonsense fails that write and nothing else', async () => {
  const { guest, client, connection } = await hostile();
  const decoder = new FrameDecoder();
  guest.on('data', (chunk) => {
    decoder.push(chunk, ({ type, channel }) => {
      if (type === 'open') guest.write(encodeFrame('result', channel, Buffer.from([1, 2, 3])));
    });
  });
  const { stdin } = new ProcessHandle(client, 'prc00000000000000000001');
  await stdin.write(Buffer.from('x'));
  await delay(50);
  await expect(stdin.write(Buffer.from('y'))).rejects.toMatchObject({ code: 'guest_failed' });
  await delay(20);
  expect(connection.isOpen).toBe(true);
});

test('a guest that pings without reading is cut off', async () => {
  const { guest, connection } = await hostile();
  guest.pause();
  const ping = encodeFrame('ping', 0, Buffer.alloc(8));
  const many = Buffer.concat(Array.from({ length: 20_000 }, () => ping));
  guest.on('error', () => {});
  for (let n = 0; n < 200 && connection.isOpen; n += 1) {
    guest.write(many);
    await delay(5);
  }
  expect(connection.isOpen).toBe(false);
});
