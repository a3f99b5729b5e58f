import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { answer, answering, scriptedEngine } from '../../../../../test/scripted-engine.ts';
import { Containers } from './containers.ts';
import { Engine } from './engine.ts';
import { readFacts } from './engine-facts.ts';
import { EngineImages } from './engine-images.ts';
import { engineKinds } from './engine-kind.ts';

const never = new AbortController().signal;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function engineThat(behave: Parameters<typeof scriptedEngine>[0]): Promise<Engine> {
  const { engine, close } = await scriptedEngine(behave);
  cleanups.push(close);
  return engine;
}

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

const info = { NCPU: 2, Driver: 'overlay2' };
const version = { Version: '20.10', Os: 'linux', Arch: 'amd64' };

test('what answers and is no engine is one clear error that says where and what', async () => {
  for (const [said, problem] of [
    [answer('200 OK', '<html>hello</html>', 'text/html'), /no JSON/],
    [answer('404 Not Found', '<!DOCTYPE html>\n<html>no such page</html>', 'text/html'), /a page, with the status 404/],
    [answer('200 OK', '[]'), /the answer: .*expected object/i],
    [answer('200 OK', '{}'), /expected string/],
    [answer('200 OK', '{"Version":7,"NCPU":"many"}'), /expected (string|number)/],
    ['HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n', /no JSON/],
  ] as const) {
    const engine = await engineThat((socket) => socket.end(said));
    const failed = await readFacts(engine, engineKinds.docker, never).catch((error) => error);
    expect(failed).toMatchObject({ code: 'driver_failed', hint: expect.stringContaining('Check the address') });
    expect(failed.message).toContain(engine.where);
    expect(failed.message).toMatch(problem);
  }
});

test('an engine may leave out what it likes, and write nothing for what is empty', async () => {
  const engine = await engineThat(
    answering({ '/version': version, '/info': { ...info, DriverStatus: null, Runtimes: null, SecurityOptions: null } }),
  );
  expect(await readFacts(engine, engineKinds.docker, never)).toMatchObject({ processors: 2, runtimes: [] });
});

test('a broken answer about a container or an image is no defect of ours', async () => {
  const engine = await engineThat(
    answering({
      '/containers/one/json': { Id: '../../etc', Image: 'x', State: { Running: true, Paused: false, StartedAt: '' } },
      '/containers/two/json': { Id: 'a'.repeat(64), Image: 'x', State: null },
      '/images/three/json': { Id: 'b'.repeat(64), Config: { Env: 'PATH=/bin' } },
    }),
  );
  const containers = new Containers(engine);
  await expect(containers.inspect('one', never)).rejects.toMatchObject({
    code: 'driver_failed',
    message: expect.stringMatching(/Id/),
  });
  await expect(containers.inspect('two', never)).rejects.toMatchObject({
    code: 'driver_failed',
    message: expect.stringMatching(/State/),
  });
  const images = new EngineImages(engine, 'own');
  await expect(images.find('three', never)).rejects.toMatchObject({
    code: 'driver_failed',
    message: expect.stringMatching(/Config.Env/),
  });
});

test('Podman lists runtimes that it does not use, and is believed about its default alone', async () => {
  const runtimes = { ...info, Runtimes: { crun: {}, runsc: {} }, DefaultRuntime: 'crun' };
  const engine = await engineThat(answering({ '/version': version, '/info': runtimes }));
  expect((await readFacts(engine, engineKinds.podman, never)).runtimes).toEqual(['crun']);
  expect((await readFacts(engine, engineKinds.docker, never)).runtimes).toEqual(['crun', 'runsc']);
});

test('a container whose files are still looked at is removed when they are not', async () => {
  const words = 'driver "overlay2" failed to remove root filesystem: unlinkat /x/merged: device or resource busy';
  let asked = 0;
  const engine = await engineThat((socket) => {
    asked += 1;
    socket.end(asked < 3 ? answer('500 Oh', JSON.stringify({ message: words })) : 'HTTP/1.1 204 Gone\r\n\r\n');
  });
  await new Containers(engine).remove('one', never);
  expect(asked).toBe(3);
});
