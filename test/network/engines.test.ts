import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Server as NetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { type TestServer, testServer } from '../e2e/server.ts';
import { type RealEngine, startEngine, whyNoEngine } from '../real-engine.ts';
import { slowness } from '../slowness.ts';
import { makeCertificates } from './certificates.ts';
import { previewApp } from './preview-app.ts';
import { at } from './preview-world.ts';
import { visit } from './visit.ts';

/** The network of sandboxes on engines: the same guest, so what is looked at is what the engine itself could break. */
const value = 'value-that-only-its-server-sees';
const secure = 'api.example.com';
const certificates = makeCertificates(secure);
const os = { family: 'image', reference: 'localhost/tools:latest' };
const folders: string[] = [];
const newFolder = (name: string) => {
  const folder = mkdtempSync(join(tmpdir(), name));
  folders.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe.each(['docker', 'podman'] as const)('the network of sandboxes on %s', (name) => {
  const missing = whyNoEngine(name);
  let real: RealEngine;
  let server: TestServer;
  let caisson: Caisson;
  let plain: NetServer;
  let tls: Server;
  let sandbox: SandboxHandle;
  let ok = '';
  let api = '';
  const seen: string[] = [];

  const specOf = (network: object, runtime: object = {}) => ({
    source: { kind: 'none' },
    target: { os },
    runtime: { resources: { memoryMiB: 256, pids: 128 }, ...runtime, network },
  });
  const allowed = { mode: 'allowlist' as const, allow: ['ok.test', secure] };

  beforeAll(async () => {
    if (missing !== undefined) return;
    plain = createNetServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhere\n'));
    });
    tls = createServer(certificates.of(secure), (req, res) => {
      seen.push(req.headers.authorization ?? '');
      res.end('in\n');
    });
    for (const one of [plain, tls]) await once(one.listen(0, '127.0.0.1'), 'listening');
    const [port, tlsPort] = [plain, tls].map((one) => (one.address() as AddressInfo).port);
    [ok, api] = [`ok.test:${port}`, `https://${secure}:${tlsPort}`];
    const rootsFile = join(newFolder('caisson-roots-'), 'roots.pem');
    writeFileSync(rootsFile, certificates.authority);
    const resolver = { resolve: async (host: string) => (/^(ok|bad)\.test$|^api\./.test(host) ? ['127.0.0.1'] : []) };
    const egress = { open: [`127.0.0.1:${port}`, `127.0.0.1:${tlsPort}`], rootsFile, resolver };
    const data = newFolder('caisson-engines-');
    mkdirSync(join(data, 'profiles'));
    const profile = { name: 'warm', version: 1, spec: specOf(allowed) };
    writeFileSync(join(data, 'profiles', 'warm.json'), JSON.stringify(profile));
    real = await startEngine(name, ['curl', 'node']);
    const engines = { dockerHost: real.host, podmanHost: real.host };
    server = await testServer({ drivers: [name], engines, egress, reconcileSeconds: 0.3 }, data);
    caisson = new Caisson({ baseUrl: server.url });
    await caisson.secrets.set('token', { value, domains: [secure], ports: [tlsPort ?? 0], env: 'API_TOKEN' });
    sandbox = await caisson.sandboxes.create({ spec: specOf(allowed) });
  }, 90_000 * slowness);
  afterAll(async () => {
    await server?.close();
    await real?.close();
    plain?.close();
    tls?.close();
  }, 60_000 * slowness);
  beforeEach((context) => {
    if (missing !== undefined) skip(context, missing);
  });

  const sh = async (line: string, one = sandbox) => (await one.exec(['/bin/sh', '-c', line], { user: 'root' })).stdout;
  /** The status that `curl` got; 000 when there was none. */
  const status = (flags: string, one = sandbox) =>
    sh(`curl -sS -m 20 -o /tmp/page -w '%{http_code}' ${flags} 2>/dev/null`, one);
  const bothSides = async (one: SandboxHandle) => [
    await status(`http://${ok}/`, one),
    await status(`http://${ok.replace('ok', 'bad')}/`, one),
  ];

  /** What an image has in a folder, by its names. */
  const committed = async (Image: string, path: string) => {
    const signal = AbortSignal.timeout(20_000);
    const { body: made } = await real.engine.call<{ Id: string }>('POST', '/containers/create', {
      body: { Image, Cmd: ['/bin/true'] },
      signal,
    });
    const call = { query: { path }, signal };
    const { body } = await real.engine.call<Buffer>('GET', `/containers/${made.Id}/archive`, call);
    await real.engine.call('DELETE', `/containers/${made.Id}`, { signal });
    return body.toString('latin1');
  };

  test('what the rules allow passes through every door, and nothing else does', async () => {
    const bad = ok.replace('ok', 'bad');
    const socks = '-x $CAISSON_SOCKS_PROXY';
    expect(await bothSides(sandbox)).toEqual(['200', '403']);
    expect(await status(`-p http://${ok}/`)).toBe('200');
    expect(await status(`-p http://${bad}/`)).toBe('000');
    expect(await status(`${socks} http://${ok}/`)).toBe('200');
    expect(await status(`${socks} http://${bad}/`)).toBe('000');
    expect(sandbox.record.notices.join()).not.toContain('network');
  });

  test('private addresses, the server and the engine are not to be reached, and there is no interface but loopback', async () => {
    const api = new URL(server.url).host;
    const open = await caisson.sandboxes.create({ spec: specOf({ mode: 'open' }) });
    for (const host of [api, '10.0.0.1', '169.254.169.254', '[::1]'])
      expect({ host, status: await status(`-g --noproxy '' http://${host}/`, open) }).toEqual({ host, status: '403' });
    expect(await sh(`curl -sS -m 5 --noproxy '*' http://${api}/ 2>&1; ls /sys/class/net`, open)).toMatch(
      /(refused|[Ff]ailed)[^\n]*\nlo\n$/,
    );
    await open.destroy();
  });

  test('a secret goes out with a request and is nowhere inside, nor is anything of it in a snapshot', async () => {
    const one = await caisson.sandboxes.create({ spec: specOf({ ...allowed, secrets: ['token'] }) });
    const use = `curl -sS -H "Authorization: Bearer $API_TOKEN" ${api}/`;
    expect(await sh(use, one)).toBe('in\n');
    expect(seen.splice(0)).toEqual([`Bearer ${value}`]);
    const search = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /dev/caisson-* | grep -c '[o]nly-its-server'; true";
    expect(await sh(search, one)).toBe('0\n');
    const { id } = await one.snapshot({ name: 'with-trust' });
    await one.rollback('with-trust');
    expect(await sh(use, one)).toBe('in\n');
    await one.network.set({ mode: 'off', secrets: [] });
    const [fork] = await one.fork({ count: 1 });
    expect(fork && (await sh('env | grep -ciE "proxy|pem|token"; ls -a /dev | grep caisson', fork))).toBe(
      '0\n.caisson\n',
    );
    expect(await committed(`localhost/caisson/snapshot:${id}`, '/etc')).toContain('machine-id');
    expect(await committed(`localhost/caisson/snapshot:${id}`, '/dev')).not.toContain('caisson');
    await Promise.all([one.destroy(), fork?.destroy()]);
  });

  test('rules hold after a stop, for a server that was started again, and for what comes from a sandbox', async () => {
    const one = await caisson.sandboxes.create({ spec: specOf({ mode: 'off' }, { persistence: 'persistent' }) });
    expect(await sh('env | grep -ci proxy; echo kept > /workspace/file', one)).toBe('0\n');
    await one.stop();
    await one.network.set(allowed);
    await one.start();
    expect(await bothSides(one)).toEqual(['200', '403']);
    expect(await sh('cat /workspace/file', one)).toBe('kept\n');
    const [fork] = await one.fork({ count: 1 });
    expect(fork && (await bothSides(fork))).toEqual(['200', '403']);
    server = await server.restart();
    caisson = new Caisson({ baseUrl: server.url });
    const again = await caisson.sandboxes.get(one.id);
    expect(await bothSides(again)).toEqual(['200', '403']);
    await again.network.set({ mode: 'off' });
    expect(await bothSides(again)).toEqual(['403', '403']);
    for (const id of [one.id, fork?.id ?? '']) await (await caisson.sandboxes.get(id)).destroy();
    sandbox = await caisson.sandboxes.get(sandbox.id);
  });

  test('a port is shared with those who have its token, and with nobody else', async () => {
    await sandbox.processes.start(['node', '-e', previewApp]);
    await sandbox.ports.wait(3000, { timeoutSeconds: 30 });
    const share = await sandbox.ports.open(3000);
    const headers = { 'x-caisson-preview-token': share.token ?? '' };
    expect(await visit({ url: at(share, '/a') })).toMatchObject({ status: 401 });
    expect(await visit({ url: at(share, '/a'), headers })).toMatchObject({ status: 200, text: 'page /a' });
  });

  test('sandboxes are made ahead, of what the image is now, and have the rules of those who take them', async () => {
    const signal = AbortSignal.timeout(60_000);
    const containers = async () => {
      const { body } = await real.engine.call<{ Id: string }[]>('GET', '/containers/json', { signal });
      return body.map(({ Id }) => Id);
    };
    const isReady = async () => (await caisson.pools.list()).find(({ profile }) => profile === 'warm@1')?.ready === 1;
    const patience = { timeout: 15_000 * slowness };
    const before = await containers();
    await caisson.pools.set('warm', { min: 1, max: 1 });
    await expect.poll(isReady, patience).toBe(true);
    const [old = ''] = (await containers()).filter((id) => !before.includes(id));

    await sh('echo new > /marker');
    const query = { container: before[0], repo: 'localhost/tools', tag: 'latest' };
    await real.engine.call('POST', '/commit', { query, body: {}, signal });
    server = await server.restart();
    caisson = new Caisson({ baseUrl: server.url });
    await expect.poll(async () => (await containers()).includes(old), patience).toBe(false);
    await expect.poll(isReady, patience).toBe(true);
    const taken = await caisson.sandboxes.create({ profile: 'warm' });
    expect((await caisson.pools.list())[0]).toMatchObject({ taken: 1, misses: 0 });
    expect(await sh('cat /marker', taken)).toBe('new\n');
    expect(await bothSides(taken)).toEqual(['200', '403']);
    await caisson.pools.set('warm', { min: 0, max: 0 });
    await taken.destroy();
  });
});
