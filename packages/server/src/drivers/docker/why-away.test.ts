import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { answer, scriptedEngine } from '../../../../../test/scripted-engine.ts';
import { type EndpointOptions, parseEndpoint } from './endpoint.ts';
import { Engine } from './engine.ts';

const cleanups: (() => void)[] = [];
const path = process.env.PATH;
afterEach(() => {
  process.env.PATH = path;
  for (const cleanup of cleanups.splice(0)) cleanup();
});

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'csn-away-'));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** What is told of an engine that is away. */
async function told(host: string, options: EndpointOptions = {}, withinMs = 60_000) {
  const engine = new Engine(parseEndpoint(host, options), ['docker', 'system', 'dial-stdio']);
  cleanups.push(() => engine.close());
  const signal = new AbortController().signal;
  const error = await engine.call('GET', '/info', { signal, withinMs }).catch((failed) => failed);
  return { code: error.code, message: String(error.message), hint: String(error.hint) };
}

test('one that is not there', async () => {
  const { code, message, hint } = await told('unix:///nowhere/socket');
  expect([code, message]).toEqual([
    'driver_unavailable',
    'there is no engine at unix:///nowhere/socket: the socket does not exist',
  ]);
  expect(hint).toMatch(/^Start it, or correct its address/);
});

test('one that nobody listens for', async () => {
  const file = join(temporary(), 'socket');
  writeFileSync(file, '');
  expect((await told(`unix://${file}`)).message).toMatch(/nobody listens there/);
  // Port 1 of loopback: nothing of a test listens there.
  expect((await told('tcp://127.0.0.1:1')).message).toMatch(/nobody listens there/);
});

test('one that hangs, and after how long that was clear', async () => {
  const scripted = await scriptedEngine(() => {});
  cleanups.push(scripted.close);
  const { code, message, hint } = await told(`unix://${scripted.path}`, {}, 100);
  expect([code, message]).toEqual([
    'driver_timeout',
    `the engine at unix://${scripted.path} did not answer within 0.1 s`,
  ]);
  expect(hint).toMatch(/hangs/);
});

test('one that ends in the middle, and something that is none', async () => {
  const dying = await scriptedEngine((socket) => socket.destroy());
  const other = await scriptedEngine((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
  cleanups.push(dying.close, other.close);
  expect((await told(`unix://${dying.path}`)).message).toMatch(/ended the connection before it had answered/);
  expect((await told(`unix://${other.path}`)).message).toMatch(/is no engine: it does not speak HTTP/);
});

test('one that wants TLS, and certificates that are not there', async () => {
  const words = 'Client sent an HTTP request to an HTTPS server.';
  const secure = await scriptedEngine((socket) => socket.end(answer('400 Bad Request', words, 'text/plain')));
  cleanups.push(secure.close);
  const plain = await told(`unix://${secure.path}`);
  expect([plain.code, plain.message]).toEqual(['driver_unavailable', expect.stringMatching(/wants TLS/)]);
  expect(plain.hint).toContain('DOCKER_CERT_PATH');
  const without = await told('tcp://127.0.0.1:1', { certFolder: temporary() });
  expect(without).toMatchObject({
    code: 'driver_unavailable',
    message: expect.stringMatching(/cannot be read.*ca\.pem/),
  });
  expect(without.hint).toContain('DOCKER_CERT_PATH');
});

test('one behind ssh, where there is no ssh', async () => {
  process.env.PATH = temporary();
  const { code, message, hint } = await told('ssh://ada@build.example');
  expect([code, message]).toEqual([
    'driver_unavailable',
    'ssh://ada@build.example needs the program ssh, which is not here',
  ]);
  expect(hint).toContain('openssh-client');
});
