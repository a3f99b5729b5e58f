import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson } from '@caisson/sdk';
import { afterEach, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { makeCertificates } from '../network/certificates.ts';
import { type EngineName, startEngine, whyNoEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';
import { testServer } from './server.ts';

const os = { family: 'image', reference: 'localhost/tools:latest' };
const runtime = { network: { mode: 'off' }, resources: { memoryMiB: 128, pids: 128 } };
const spec = { source: { kind: 'none' }, target: { os }, runtime };
const timeout = 120_000 * slowness;
const sshd = '/usr/sbin/sshd';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}, timeout);

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'csn-endpoint-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A sandbox there, a command and bytes both ways; and nothing of it afterwards. */
async function use(name: EngineName, host: string, certFolder?: string): Promise<void> {
  const engines = { dockerHost: host, podmanHost: host, certFolder };
  const server = await testServer({ drivers: [name], engines });
  cleanups.push(() => server.close());
  const caisson = new Caisson({ baseUrl: server.url });
  const sandbox = await caisson.sandboxes.create({ spec, waitSeconds: 120 });
  const text = 'there and back\n'.repeat(100_000);
  await sandbox.files.write('/workspace/large', text);
  expect(await sandbox.files.readText('/workspace/large')).toBe(text);
  expect((await sandbox.exec('wc -c < /workspace/large')).stdout.trim()).toBe(String(text.length));
  await sandbox.snapshot({ name: 'one' });
  await sandbox.rollback('one');
  await sandbox.destroy();
}

test('an engine behind TLS, where both sides prove who they are', { timeout }, async (context) => {
  const missing = whyNoEngine('docker');
  if (missing !== undefined) skip(context, missing);
  const [folder, stranger] = [temporary(), temporary()];
  for (const [place, made] of [folder, stranger].map((one) => [one, makeCertificates('localhost')] as const)) {
    const { cert, key } = made.of('localhost');
    for (const [name, text] of Object.entries({ ca: made.authority, cert, key }))
      writeFileSync(join(place, `${name}.pem`), text, { mode: 0o600 });
  }
  const port = await freePort();
  const real = await startEngine('docker', [], { tls: { port, folder } });
  cleanups.push(() => real.close());
  const host = `tcp://localhost:${port}`;
  await use('docker', host, folder);
  const server = await testServer({ drivers: ['docker'], engines: { dockerHost: host, certFolder: stranger } });
  cleanups.push(() => server.close());
  const { checks } = await new Caisson({ baseUrl: server.url }).doctor();
  expect(checks.find((check) => check.name === 'driver docker')).toMatchObject({ ok: false });
});

test.for(['docker', 'podman'] as const)('an engine behind ssh: %s', { timeout }, async (name, context) => {
  const missing = whyNoEngine(name) ?? (existsSync(sshd) ? undefined : 'openssh-server is not installed');
  if (missing !== undefined) skip(context, missing);
  const real = await startEngine(name);
  cleanups.push(() => real.close());
  const folder = temporary();
  const at = (file: string) => join(folder, file);
  for (const key of ['host', 'own'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(key)], { stdio: 'ignore' });
  const port = await freePort();
  const own = execFileSync('cat', [at('own.pub')], { encoding: 'utf8' });
  const hostKey = execFileSync('cat', [at('host.pub')], { encoding: 'utf8' })
    .split(' ')
    .slice(0, 2)
    .join(' ');
  writeFileSync(at('authorized'), own);
  writeFileSync(at('known'), `[127.0.0.1]:${port} ${hostKey}\n`);
  const server = [`Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${at('host')}`, 'UsePAM no', 'StrictModes no'];
  const access = [`AuthorizedKeysFile ${at('authorized')}`, 'PermitRootLogin prohibit-password', 'PidFile none'];
  // Where the engine is on that machine; there is none at its usual place.
  const place = [`SetEnv ${name === 'docker' ? 'DOCKER_HOST' : 'CONTAINER_HOST'}=${real.host}`];
  writeFileSync(at('sshd'), [...server, ...access, ...place, ''].join('\n'));
  mkdirSync('/run/sshd', { recursive: true });
  const daemon: ChildProcess = spawn(sshd, ['-D', '-f', at('sshd')], { stdio: 'ignore' });
  cleanups.push(async () => {
    daemon.kill();
    if (daemon.exitCode === null) await once(daemon, 'exit');
  });
  await expect.poll(() => canConnect(port), { timeout: 10_000 * slowness }).toBe(true);

  // The machine's own ssh, with a configuration and keys of the test's own.
  const client = [`IdentityFile ${at('own')}`, 'IdentitiesOnly yes', `UserKnownHostsFile ${at('known')}`];
  writeFileSync(at('config'), client.join('\n'));
  writeFileSync(at('ssh'), `#!/bin/sh\nexec /usr/bin/ssh -F ${at('config')} "$@"\n`);
  chmodSync(at('ssh'), 0o755);
  const { PATH } = process.env;
  process.env.PATH = `${folder}:${PATH}`;
  cleanups.push(() => {
    process.env.PATH = PATH;
  });
  await use(name, `ssh://root@127.0.0.1:${port}`);
  // A host that is not who it was is not spoken to.
  writeFileSync(at('known'), `[127.0.0.1]:${port} ${own.split(' ').slice(0, 2).join(' ')}\n`);
  const other = await testServer({
    drivers: [name],
    engines: { dockerHost: `ssh://root@127.0.0.1:${port}`, podmanHost: `ssh://root@127.0.0.1:${port}` },
  });
  cleanups.push(() => other.close());
  const { checks } = await new Caisson({ baseUrl: other.url }).doctor();
  expect(checks.find((check) => check.name === `driver ${name}`)?.detail).toMatch(/Host key verification failed/);
});

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
