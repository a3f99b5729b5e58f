import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Engine } from './engine.ts';

const never = new AbortController().signal;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** An engine that does with each connection what the test wants. */
async function engineThat(behave: (socket: Socket) => void): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), 'csn-engine-'));
  const path = join(folder, 'socket');
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => behave(socket));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const engine = new Engine({ kind: 'unix', path }, []);
  cleanups.push(() => {
    engine.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return engine;
}

const answer = (status: string, body: string, type = 'application/json') =>
  `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

test('an engine that hangs is found out by the deadline of the call', async () => {
  const engine = await engineThat(() => {});
  const calling = engine.call('GET', '/info', { signal: never, withinMs: 50 });
  await expect(calling).rejects.toMatchObject({ code: 'driver_timeout' });
  const upgrading = engine.upgrade('/exec/x/start', { signal: never, withinMs: 50 });
  await expect(upgrading).rejects.toMatchObject({ code: 'driver_timeout' });
});

test('an engine that hangs in the middle of its answer is found out too', async () => {
  const engine = await engineThat((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{'));
  const calling = engine.call('GET', '/info', { signal: never, withinMs: 50 });
  await expect(calling).rejects.toMatchObject({ code: 'driver_timeout' });
});

test('a caller who gives up gets their own reason', async () => {
  const engine = await engineThat(() => {});
  const caller = new AbortController();
  const calling = engine.call('GET', '/info', { signal: caller.signal });
  caller.abort(new Error('enough'));
  await expect(calling).rejects.toThrow('enough');
});

test('an engine that dies in the middle of a call, or is not there, is unavailable', async () => {
  const engine = await engineThat((socket) => socket.destroy());
  await expect(engine.call('GET', '/info', { signal: never })).rejects.toMatchObject({ code: 'driver_unavailable' });
  const nobody = new Engine({ kind: 'unix', path: '/nowhere/socket' }, []);
  await expect(nobody.call('GET', '/info', { signal: never })).rejects.toMatchObject({ code: 'driver_unavailable' });
  await expect(nobody.upgrade('/x', { signal: never })).rejects.toMatchObject({ code: 'driver_unavailable' });
});

test('what does not speak HTTP is unavailable', async () => {
  const engine = await engineThat((socket) => socket.write('SSH-2.0-OpenSSH\r\n'));
  await expect(engine.call('GET', '/info', { signal: never })).rejects.toMatchObject({ code: 'driver_unavailable' });
});

test('a full disk is told as one, whatever the status', async () => {
  const engine = await engineThat((socket) =>
    socket.write(answer('500 Oh', '{"message":"write /x: no space left on device"}')),
  );
  const calling = engine.call('POST', '/containers/create', { signal: never, body: {} });
  await expect(calling).rejects.toMatchObject({ code: 'storage_full' });
});

test('any other refusal is told with the words of the engine', async () => {
  const refuse = (socket: Socket) => socket.write(answer('409 Conflict', '{"message":"it is in use"}'));
  const engine = await engineThat((socket) => {
    refuse(socket);
    socket.on('data', () => refuse(socket));
  });
  await expect(engine.call('DELETE', '/images/x', { signal: never })).rejects.toMatchObject({
    code: 'driver_failed',
    message: 'the engine refused: it is in use',
    context: { status: 409 },
  });
  expect((await engine.call('DELETE', '/images/x', { signal: never, accept: [409] })).status).toBe(409);
});

test('a refused upgrade is a refusal, and what follows an accepted one is the stream', async () => {
  const refusing = await engineThat((socket) => socket.write(answer('409 Conflict', '{"message":"it is paused"}')));
  await expect(refusing.upgrade('/exec/x/start', { signal: never })).rejects.toThrow(/it is paused/);
  const engine = await engineThat((socket) => {
    socket.write('HTTP/1.1 101 UPGRADED\r\nconnection: Upgrade\r\nupgrade: tcp\r\n\r\nhel');
    socket.on('data', (chunk) => socket.end(chunk));
  });
  const stream = await engine.upgrade('/exec/x/start', { signal: never });
  stream.write('lo');
  let text = '';
  for await (const chunk of stream) text += chunk;
  expect(text).toBe('hello');
});
