import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestServer, testServer } from '../e2e/server.ts';
import { slowness } from '../slowness.ts';

const value = 'value-that-is-nowhere-inside';
const spec = (secrets: string[], env = {}) => ({
  source: { kind: 'none' },
  os: 'host',
  env,
  runtime: {
    persistence: 'persistent',
    ociRuntime: 'runc',
    network: { mode: 'open', ...(secrets.length > 0 ? { secrets } : {}) },
  },
});

let server: TestServer;
let caisson: Caisson;
const made: SandboxHandle[] = [];

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-secrets-'));
  mkdirSync(join(folder, 'profiles'));
  const profile = { name: 'secretive', version: 1, sourceRequired: false, spec: spec(['token']) };
  writeFileSync(join(folder, 'profiles', 'secretive.yaml'), JSON.stringify(profile));
  server = await testServer({ drivers: ['oci'] }, folder);
  caisson = new Caisson({ baseUrl: server.url });
  await caisson.secrets.set('token', { value, domains: ['api.example.com'], env: 'API_TOKEN' });
}, 60_000 * slowness);
afterAll(async () => {
  for (const sandbox of made) await sandbox.destroy();
  await server.close();
}, 60_000 * slowness);

async function create(secrets: string[], env = {}): Promise<SandboxHandle> {
  const sandbox = await caisson.sandboxes.create({ spec: spec(secrets, env) });
  made.push(sandbox);
  return sandbox;
}

async function sh(sandbox: SandboxHandle, line: string): Promise<string> {
  return (await sandbox.exec(['/bin/sh', '-c', line], { user: 'root' })).stdout;
}

test(
  'a sandbox that names a secret has its placeholder and trust, after each start anew, and the value nowhere',
  async () => {
    const sandbox = await create(['token'], { CURL_CA_BUNDLE: '/own.pem' });
    const [secret] = await caisson.secrets.list();
    const look = 'echo $API_TOKEN $SSL_CERT_FILE $CURL_CA_BUNDLE; cd /dev && ls caisson-*';
    const expected = `${secret?.placeholder} /dev/caisson-roots.pem /own.pem\ncaisson-apt.conf\ncaisson-ca.pem\ncaisson-roots.pem\n`;
    expect(await sh(sandbox, look)).toBe(expected);
    const search = `cat /proc/[0-9]*/environ /dev/caisson-* /etc/* 2>/dev/null | grep -c nowhere-inside; true`;
    expect(await sh(sandbox, search)).toBe('0\n');
    await sandbox.stop();
    await sandbox.start();
    expect(await sh(sandbox, look)).toBe(expected);
  },
  60_000 * slowness,
);

test(
  'a sandbox that names none has nothing of it',
  async () => {
    const sandbox = await create([]);
    expect(await sh(sandbox, 'env | grep -c caisson-; ls /dev | grep -c caisson-')).toBe('0\n0\n');
  },
  60_000 * slowness,
);

test('a secret that is not there is refused with its place before anything is made', async () => {
  await expect(create(['token', 'nothing'])).rejects.toMatchObject({
    code: 'spec_invalid',
    problems: [{ path: 'runtime.network.secrets[1]' }],
  });
});

test(
  'a sandbox whose secret was deleted starts, and says that it goes without',
  async () => {
    await caisson.secrets.set('brief', { value, domains: ['b.example'], env: 'BRIEF' });
    const sandbox = await create(['brief']);
    await caisson.secrets.delete('brief');
    await sandbox.stop();
    await sandbox.start();
    const { notices } = (await caisson.sandboxes.get(sandbox.id)).record;
    expect(notices).toContainEqual(expect.stringContaining('The secret brief is not there'));
    expect(await sh(sandbox, 'echo "[$BRIEF]"')).toBe('[]\n');
  },
  60_000 * slowness,
);

test('a sandbox with secrets is not made ahead, and its pool says why', async () => {
  const pool = await caisson.pools.set('secretive', { min: 1, max: 1 });
  expect(pool).toMatchObject({ wanted: 0, making: 0, problem: expect.stringContaining('with secrets') });
});
