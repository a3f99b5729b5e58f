import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  encodeFrame,
  encodeMessage,
  FrameDecoder,
  type FrameName,
  GuestClient,
  GuestListener,
  hello,
  limits,
  type Secrets,
} from '@caisson/guest';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** A guest that code inside has taken over, with its secret: it is let in, and then does what it wants. */
let folder: string;
let listener: GuestListener;
let client: GuestClient;
let secrets: Secrets;
const dialled: Socket[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'csn-hostile-'));
  secrets = { current: randomBytes(32), next: randomBytes(32) };
  client = new GuestClient({ patienceMs: 300 });
  listener = new GuestListener({
    path: join(folder, 'socket'),
    sandboxId: 'sbx',
    incarnation: 1,
    secrets,
    storeSecrets: () => {},
    onConnection: (connection) => client.use(connection),
  });
  await listener.listen();
});
afterEach(async () => {
  for (const socket of dialled.splice(0)) socket.destroy();
  client.close();
  await listener.close();
  rmSync(folder, { recursive: true });
});

async function dial(incarnation = 1, sandboxId = 'sbx', secret: Uint8Array = secrets.current): Promise<Socket> {
  const socket = connect(join(folder, 'socket'));
  socket.on('error', () => {});
  dialled.push(socket);
  const offer = { minVersion: 1, maxVersion: 1, guestVersion: 'x', bootId: randomBytes(16) };
  const own = { sandboxId, incarnation, secret, initialWindow: limits.windowInitial, maxChannels: 100 };
  socket.write(encodeFrame('hello', 0, encodeMessage(hello, { ...offer, ...own })));
  await new Promise((resolve) => socket.once('data', resolve));
  return socket;
}

/** Answers every request of the server with the same frames. */
function answer(socket: Socket, frames: (channel: number) => Buffer[]): void {
  const decoder = new FrameDecoder();
  socket.on('data', (chunk) => {
    decoder.push(chunk, ({ type, channel }) => {
      if (type === 'open') for (const frame of frames(channel)) socket.write(frame);
    });
  });
}

/** Cut off, soon, without having cost the server memory; and the next one is let in. */
async function expectCutOff(before: number): Promise<void> {
  await expect.poll(() => listener.connection, { timeout: 30_000 }).toBeUndefined();
  expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
  await dial();
  await expect.poll(() => listener.connection).toBeDefined();
}

test('a frame that claims to be of four gigabytes is cut off before a byte of it is kept', async () => {
  const before = process.memoryUsage.rss();
  const socket = await dial();
  const header = Buffer.alloc(12);
  header.writeUInt32LE(0xffff_fff0, 0);
  socket.write(header);
  await expectCutOff(before);
});

test('more data than its reader takes is cut off', async () => {
  const before = process.memoryUsage.rss();
  const socket = await dial();
  const piece = encodeFrame('data', 1, Buffer.alloc(64 * 1024));
  answer(socket, (channel) => {
    piece.writeUInt32LE(channel, 8);
    return Array.from({ length: 1_000 }, () => piece);
  });
  const archive = client.files.tarOut('/');
  expect((await archive.next()).done).toBe(false);
  await expectCutOff(before);
});

test('lists without end and without entries are ended', async () => {
  const socket = await dial();
  // A record with one field that nobody knows, which says nothing.
  const nothing = Buffer.alloc(limits.fieldHeaderBytes);
  answer(socket, (channel) => Array.from({ length: 100 }, () => encodeFrame('data', channel, nothing)));
  const failed = { code: 'guest_failed' };
  await expect(client.files.list('/')).rejects.toMatchObject(failed);
  await expect(client.processes.list()).rejects.toMatchObject(failed);
  await expect(client.ports.list()).rejects.toMatchObject(failed);
  await expect(client.files.grep('/', 'x').next()).rejects.toMatchObject(failed);
});

test.each<FrameName>(['data', 'result', 'reset', 'window'])(
  '%s on a channel that nobody opened is cut off',
  async (type) => {
    const before = process.memoryUsage.rss();
    const socket = await dial();
    socket.write(encodeFrame(type, 4_001, Buffer.alloc(4)));
    await expectCutOff(before);
  },
);

test('a hello after the welcome is cut off', async () => {
  const before = process.memoryUsage.rss();
  const socket = await dial();
  socket.write(encodeFrame('hello', 0, Buffer.alloc(4)));
  await expectCutOff(before);
});

test('a guest that never answers holds a caller no longer than the caller wants', async () => {
  await dial();
  const begin = performance.now();
  const asking = client.files.stat('/x', { signal: AbortSignal.timeout(200) });
  await expect(asking).rejects.toMatchObject({ code: 'request_timeout' });
  expect(performance.now() - begin).toBeLessThan(20_000);
});

test('half a frame and then nothing stops no other guest and no caller', async () => {
  const socket = await dial();
  const frame = encodeFrame('ping', 0, Buffer.alloc(8));
  socket.write(frame.subarray(0, 10));
  await delay(50);
  await expect(client.info(AbortSignal.timeout(200))).rejects.toMatchObject({ code: 'request_timeout' });
});

test('results that are lies about their form fail the one request', async () => {
  const socket = await dial();
  answer(socket, (channel) => [encodeFrame('result', channel, randomBytes(200))]);
  await expect(client.files.stat('/x')).rejects.toMatchObject({ code: 'guest_failed' });
  await expect(client.info()).rejects.toMatchObject({ code: 'guest_failed' });
});

test('it is the guest of one sandbox and one incarnation, whatever it says', async () => {
  for (const claim of [() => dial(1, 'sbx-other'), () => dial(2), () => dial(1, 'sbx', randomBytes(32))]) {
    const socket = await claim();
    await expect.poll(() => socket.destroyed || socket.readableEnded, { timeout: 30_000 }).toBe(true);
    expect(listener.connection).toBeUndefined();
  }
});

test('a second dialler with the right secret does not push the first one out', async () => {
  const first = await dial();
  answer(first, (channel) => [encodeFrame('reset', channel, Buffer.alloc(0))]);
  const connection = listener.connection;
  const decoder = new FrameDecoder();
  first.on('data', (chunk) => {
    decoder.push(chunk, ({ type, payload }) => {
      if (type === 'ping') first.write(encodeFrame('pong', 0, payload));
    });
  });
  for (let n = 0; n < 20; n += 1) await dial();
  await delay(100);
  expect(listener.connection).toBe(connection);
});
