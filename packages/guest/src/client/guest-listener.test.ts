import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { encodeMessage } from '../protocol/encode-message.ts';
import { encodeFrame } from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import { hello } from '../protocol/messages.ts';
import { GuestListener, type GuestListenerOptions } from './guest-listener.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const secrets = { current: randomBytes(32), next: randomBytes(32) };

async function listening(options: Partial<GuestListenerOptions> = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-listener-'));
  const path = join(folder, 's');
  const listener = new GuestListener({
    ...{ path, sandboxId: 'sbx', incarnation: 1, secrets, storeSecrets: () => {}, onConnection: () => {} },
    ...options,
  });
  await listener.listen();
  undo.push(
    () => rmSync(folder, { recursive: true }),
    () => listener.close(),
  );
  return path;
}

async function dial(path: string): Promise<Socket> {
  const socket = connect(path);
  undo.push(() => socket.destroy());
  await new Promise((done) => socket.once('connect', done));
  return socket;
}

function sayHello(socket: Socket, secret: Buffer): void {
  const terms = { initialWindow: limits.windowInitial, maxChannels: 100 };
  const said = { minVersion: 1, maxVersion: 1, guestVersion: 'x', sandboxId: 'sbx', incarnation: 1, ...terms };
  socket.write(encodeFrame('hello', 0, encodeMessage(hello, { ...said, bootId: randomBytes(16), secret })));
}

test('silent diallers do not keep the guest out', async () => {
  let connected: () => void = () => {};
  const connection = new Promise<void>((resolve) => {
    connected = resolve;
  });
  const path = await listening({ onConnection: () => connected() });
  for (let n = 0; n < 20; n += 1) await dial(path);
  sayHello(await dial(path), secrets.current);
  await connection;
});

test('a dialler whose new secret cannot be stored is let go at once', async () => {
  const storeSecrets = () => Promise.reject(new Error('the disk is full'));
  const refusals: string[] = [];
  const socket = await dial(await listening({ storeSecrets, onRefused: (why) => refusals.push(why) }));
  socket.resume();
  sayHello(socket, secrets.next);
  await new Promise((closed) => socket.once('close', closed));
  expect(refusals).toEqual(['the disk is full']);
});
