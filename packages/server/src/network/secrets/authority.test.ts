import { execFileSync } from 'node:child_process';
import { randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { Authority } from './authority.ts';
import { Vault } from './vault.ts';

const root = mkdtempSync(join(tmpdir(), 'caisson-authority-'));
afterAll(() => rmSync(root, { recursive: true }));
const day = 86_400_000;
const vault = new Vault({ kind: 'text', text: randomBytes(32).toString('base64'), name: 'k' });
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(root, 'f-'));
});

const longHost = `${'a'.repeat(60)}.${'b'.repeat(60)}.example.com`;

test.each(['api.example.com', 'localhost', longHost, '_odd.example.com'])(
  'openssl accepts the certificate of %s for a server',
  async (host) => {
    const authority = new Authority(folder, vault);
    const { cert } = await authority.leaf(host);
    const [ca, leaf] = [join(folder, 'ca.pem'), join(folder, 'leaf.pem')];
    writeFileSync(ca, await authority.certificate());
    writeFileSync(leaf, cert);
    const strict = ['verify', '-x509_strict', '-purpose', 'sslserver', '-verify_hostname', host];
    expect(execFileSync('openssl', [...strict, '-no-CApath', '-CAfile', ca, leaf]).toString()).toContain('OK');
    expect(
      execFileSync('openssl', ['verify', '-x509_strict', '-check_ss_sig', '-CAfile', ca, ca]).toString(),
    ).toContain('OK');
  },
);

test('Node speaks TLS with it under full verification, and refuses it for another host', async () => {
  const authority = new Authority(folder, vault);
  const ca = await authority.certificate();
  const server = createServer(await authority.leaf('api.example.com'), (socket) => socket.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const hello = (servername: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca, servername }, () =>
        socket.on('data', (data) => resolve(String(data))),
      );
      socket.once('error', reject);
    });
  expect(await hello('api.example.com')).toBe('hello');
  await expect(hello('other.example.com')).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  server.close();
});

test('a leaf is for one host, for days, from an hour ago, and cannot sign others', async () => {
  const authority = new Authority(folder, vault);
  const leaf = new X509Certificate((await authority.leaf('api.example.com')).cert);
  const ca = new X509Certificate(await authority.certificate());
  expect(leaf.subjectAltName).toBe('DNS:api.example.com');
  expect(leaf.ca).toBe(false);
  expect(ca.ca).toBe(true);
  expect(leaf.verify(ca.publicKey)).toBe(true);
  expect(Date.now() - Date.parse(leaf.validFrom)).toBeGreaterThan(3_500_000);
  expect(Date.parse(leaf.validTo) - Date.parse(leaf.validFrom)).toBeLessThanOrEqual(7 * day);
  expect(Date.parse(ca.validTo) - Date.now()).toBeGreaterThan(3_600 * day);
});

test('a leaf is made once, and again before it ends', async () => {
  let now = Date.now();
  const authority = new Authority(folder, vault, () => now);
  const [first, same] = await Promise.all([authority.leaf('a.example'), authority.leaf('a.example')]);
  expect(same).toBe(first);
  now += 5 * day;
  expect(await authority.leaf('a.example')).toBe(first);
  now += 1.5 * day;
  expect(await authority.leaf('a.example')).not.toBe(first);
});

test('the next server has the same authority, whose key lies sealed, for its user alone', async () => {
  const certificate = await new Authority(folder, vault).certificate();
  expect(await new Authority(folder, vault).certificate()).toBe(certificate);
  const [file = ''] = readdirSync(folder);
  expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, file), 'utf8')).not.toContain('PRIVATE KEY');
  const again = new Authority(folder, vault);
  const leaf = new X509Certificate((await again.leaf('a.example')).cert);
  expect(leaf.verify(new X509Certificate(certificate).publicKey)).toBe(true);
  expect(leaf.checkIssued(new X509Certificate(certificate))).toBe(true);
});

test('another key has another authority, and the first one stays for the first key', async () => {
  const certificate = await new Authority(folder, vault).certificate();
  const other = new Vault({ kind: 'text', text: randomBytes(32).toString('base64'), name: 'k' });
  expect(await new Authority(folder, other).certificate()).not.toBe(certificate);
  expect(await new Authority(folder, vault).certificate()).toBe(certificate);
});

test('an authority near its end is replaced, and one that was changed is refused', async () => {
  const certificate = await new Authority(folder, vault).certificate();
  const later = new Authority(folder, vault, () => Date.now() + 3_600 * day);
  expect(await later.certificate()).not.toBe(certificate);
  const [file = ''] = readdirSync(folder);
  const kept = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  writeFileSync(join(folder, file), JSON.stringify({ ...kept, certificate }));
  await expect(new Authority(folder, vault).certificate()).rejects.toMatchObject({ code: 'secret_unreadable' });
  writeFileSync(join(folder, file), '{');
  await expect(new Authority(folder, vault).certificate()).rejects.toMatchObject({ code: 'secret_unreadable' });
});
