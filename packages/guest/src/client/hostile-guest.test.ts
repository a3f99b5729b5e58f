import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { decodeMessage } from '../protocol/decode-message.ts';
import { encodeMessage } from '../protocol/encode-message.ts';
import { encodeFrame } from '../protocol/frame.ts';
import { FrameDecoder } from '../protocol/frame-decoder.ts';
import { limits } from '../protocol/limits.ts';
import { goaway, hello, open as openMessage, reset as resetMessage } from '../protocol/messages.ts';
import { methods } from '../protocol/methods.ts';
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

test('a search that has yielded nothing is asked again on the next connection', async () => {
  const first = await hostile();
  const { client } = first;
  const matches = client.files.grep('/', 'needle').next();
  await new Promise((asked) => first.guest.once('data', asked));
  first.guest.destroy();
  await first.connection.closed;
  const second = await hostile();
  const opened = new Promise<void>((resolve) => {
    const decoder = new FrameDecoder();
    second.guest.on('data', (chunk) => {
      decoder.push(chunk, ({ type, channel }) => {
        if (type !== 'open') return;
        const result = { filesSearched: 1, filesSkipped: 0, matches: 0, truncated: false };
        second.guest.write(encodeFrame('result', channel, encodeMessage(methods['file.grep'].result, result)));
        resolve();
      });
    });
  });
  client.use(second.connection);
  await opened;
  expect(await matches).toMatchObject({ done: true, value: { filesSearched: 1 } });
});

test('a proxy connection that is denied while somebody reads it throws nothing', async () => {
  const { guest, client } = await hostile();
  const reset = new Promise<string>((resolve) => {
    const decoder = new FrameDecoder();
    guest.on('data', (chunk) => {
      decoder.push(chunk, ({ type, payload }) => {
        if (type === 'reset') resolve(decodeMessage(resetMessage, payload).code);
      });
    });
  });
  client.ports.onProxyClient = ({ stream, deny }) => {
    stream.resume();
    setImmediate(deny);
  };
  const { number, params } = methods['proxy.connect'];
  const opening = { method: number, input: true, params: encodeMessage(params, { kind: 'http' }) };
  guest.write(encodeFrame('open', 2, encodeMessage(openMessage, opening)));
  expect(await reset).toBe('denied');
  await delay(20);
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
