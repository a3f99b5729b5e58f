import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { parseEndpoint } from './endpoint.ts';
import { Engine } from './engine.ts';

const never = new AbortController().signal;
const cleanups: (() => void)[] = [];
const path = process.env.PATH;
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  process.env.PATH = path;
});

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'csn-connect-'));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

const reply = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"ok":true}';

/** An authority, and a certificate by it for both sides. */
function certificates(folder: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  const key = ['-newkey', 'rsa:2048', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'ca-key.pem',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=test authority',
  );
  openssl('req', ...key, '-keyout', 'key.pem', '-out', 'request.pem', '-subj', '/CN=localhost');
  writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  const by = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-CAcreateserial', '-days', '2', '-extfile', 'names'];
  openssl('x509', '-req', '-in', 'request.pem', ...by, '-out', 'cert.pem');
}

test('an engine behind TLS is spoken to when both sides prove who they are, and not otherwise', async () => {
  const [folder, stranger] = [temporary(), temporary()];
  certificates(folder);
  certificates(stranger);
  const read = (name: string) => readFileSync(join(folder, name));
  const server = createServer(
    { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem'), requestCert: true, rejectUnauthorized: true },
    (socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(reply));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const engine = (certFolder: string) => new Engine(parseEndpoint(`tcp://127.0.0.1:${port}`, { certFolder }), []);
  const ask = (one: Engine) => one.call<{ ok: boolean }>('GET', '/info', { signal: never, withinMs: 5_000 });
  expect((await ask(engine(folder))).body).toEqual({ ok: true });
  await expect(ask(engine(stranger))).rejects.toMatchObject({
    code: 'driver_unavailable',
    message: expect.stringMatching(/do not trust each other/),
    hint: expect.stringContaining('DOCKER_CERT_PATH'),
  });
});

/** In the place of ssh: notes down how it was called, and does what the test wants. */
function fakeSsh(script: string): string {
  const folder = temporary();
  const program = join(folder, 'ssh');
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$@" > ${folder}/called\n${script}\n`);
  chmodSync(program, 0o755);
  process.env.PATH = `${folder}:${path}`;
  return join(folder, 'called');
}

test('an engine behind ssh is reached by the command that joins its socket', async () => {
  const called = fakeSsh(`head -n 1 >/dev/null; printf '${reply.replaceAll('\r\n', '\\r\\n')}'`);
  const engine = new Engine(parseEndpoint('ssh://ada@build.example:2222'), ['docker', 'system', 'dial-stdio']);
  expect((await engine.call<object>('GET', '/info', { signal: never })).body).toEqual({ ok: true });
  const words = readFileSync(called, 'utf8').trim().split('\n');
  expect(words).toEqual(expect.arrayContaining(['BatchMode=yes', '-p', '2222']));
  expect(words.slice(-5)).toEqual(['--', 'ada@build.example', 'docker', 'system', 'dial-stdio']);
});

test('one session serves calls that follow each other, and ends with its engine', async () => {
  const answer = `printf '${reply.replaceAll('\r\n', '\\r\\n')}'`;
  const serve = `while read -r line; do [ "$line" = "$(printf '\\r')" ] && ${answer}; done`;
  const called = fakeSsh(`trap 'echo > "$0.ended"; exit' TERM\n${serve}\necho > "$0.ended"`);
  const engine = new Engine(parseEndpoint('ssh://build.example'), ['docker', 'system', 'dial-stdio']);
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  for (let n = 0; n < 20; n += 1) {
    expect((await engine.call<object>('GET', '/info', { signal: never })).body).toEqual({ ok: true });
    if (n === 0) rmSync(called);
  }
  process.off('warning', note);
  expect([existsSync(called), warnings]).toEqual([false, []]);
  engine.close();
  await expect.poll(() => existsSync(called.replace(/called$/, 'ssh.ended'))).toBe(true);
});

test('what ssh says when it cannot get there is told', async () => {
  fakeSsh('echo "Host key verification failed." >&2; exit 255');
  const engine = new Engine(parseEndpoint('ssh://build.example'), ['docker', 'system', 'dial-stdio']);
  await expect(engine.call('GET', '/info', { signal: never })).rejects.toMatchObject({
    code: 'driver_unavailable',
    message: expect.stringMatching(/cannot be reached by ssh: .*Host key verification failed/),
  });
});
