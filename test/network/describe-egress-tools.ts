import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MachineResolver } from '../../packages/server/src/network/dial/machine-resolver.ts';
import { whyNoRuntime } from '../conformance/oci-world.ts';
import { skip } from '../conformance/skips.ts';
import { testDebianBase, testImagesFolder } from '../debian-base.ts';
import { type TestServer, testServer } from '../e2e/server.ts';
import { makeCertificates } from './certificates.ts';
import { FileServer } from './file-server.ts';

const machine = new MachineResolver();
const own: Readonly<Record<string, readonly string[]>> = { 'files.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] };
const resolver = {
  resolve: async (name: string, signal: AbortSignal) => own[name] ?? machine.resolve(name, signal),
};
const certificates = makeCertificates('files.test');
const folder = mkdtempSync(join(tmpdir(), 'caisson-tools-'));
const files = new FileServer(folder);
const secure = new FileServer(folder, certificates.of('files.test'));
let port = 0;
let securePort = 0;

function makeFiles(): void {
  const run = (cwd: string, command: string, ...args: string[]) => execFileSync(command, args, { cwd, stdio: 'pipe' });
  writeFileSync(join(folder, 'hello'), 'hello\n');
  // A repository as any file server can offer it.
  mkdirSync(join(folder, 'work'));
  writeFileSync(join(folder, 'work', 'readme'), 'from the repository\n');
  const git = (...args: string[]) =>
    run(join(folder, 'work'), 'git', '-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args);
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'first');
  git('clone', '-q', '--bare', '.', '../repository.git');
  run(join(folder, 'repository.git'), 'git', 'update-server-info');
  // One package for npm, and one for pip.
  mkdirSync(join(folder, 'package'));
  writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify({ name: 'tiny', version: '1.0.0' }));
  run(folder, 'tar', '-czf', 'tiny-1.0.0.tgz', 'package');
  const tarball = readFileSync(join(folder, 'tiny-1.0.0.tgz'));
  files.pages.set('/tiny', () => packument(tarball));
  const wheel = 'tiny-1.0.0-py3-none-any.whl';
  run(folder, 'python3', '-c', wheelScript, wheel);
  files.pages.set('/simple/tiny/', () => ({ type: 'text/html', body: `<a href="/${wheel}">${wheel}</a>` }));
}

const wheelScript = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as z:
    z.writestr('tiny.py', 'x = 1\\n')
    z.writestr('tiny-1.0.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0.0\\n')
    z.writestr('tiny-1.0.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    z.writestr('tiny-1.0.0.dist-info/RECORD', '')
`;

function packument(tarball: Buffer): { type: string; body: string } {
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const dist = { tarball: `http://files.test:${port}/tiny-1.0.0.tgz`, integrity };
  const versions = { '1.0.0': { name: 'tiny', version: '1.0.0', dist } };
  return {
    type: 'application/json',
    body: JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }),
  };
}

/** Programs as people use them, unchanged, in real sandboxes. */
export function describeEgressTools(runtime: 'runc' | 'runsc'): void {
  if (runtime === 'runc') testApt();
  beforeAll(async () => {
    makeFiles();
    port = await files.listen();
    securePort = await secure.listen();
  });
  afterAll(async () => {
    await files.close();
    await secure.close();
    rmSync(folder, { recursive: true });
  });

  describe(`on oci with ${runtime}`, () => {
    const why = whyNoRuntime(runtime);
    let server: TestServer;
    let sandbox: SandboxHandle;
    const specOf = (os: unknown) => ({ source: { kind: 'none' }, os, runtime: { ociRuntime: runtime } }) as never;
    const client = () => new Caisson({ baseUrl: server.url });
    const sh = async (line: string, user = 'user') => {
      const { exitCode, stdout, stderr } = await sandbox.exec(['sh', '-c', line], { user });
      return { exitCode, said: stdout + stderr };
    };

    beforeAll(async () => {
      if (why !== undefined) return;
      server = await testServer({ drivers: ['oci'], egress: { open: ['127.0.0.0/8'], resolver } });
      sandbox = await client().sandboxes.create({ spec: specOf('host') });
    }, 120_000);
    afterAll(async () => {
      if (why !== undefined) return;
      await sandbox.destroy();
      await server.close();
    }, 120_000);
    beforeEach((context) => {
      if (why !== undefined) skip(context, why);
    });

    test('curl fetches over HTTP, over TLS and over SOCKS', async () => {
      expect(await sh(`curl -sS http://files.test:${port}/hello`)).toEqual({ exitCode: 0, said: 'hello\n' });
      await sandbox.files.write('/tmp/ca.pem', certificates.authority);
      expect(await sh(`curl -sS --cacert /tmp/ca.pem https://files.test:${securePort}/hello`)).toEqual({
        exitCode: 0,
        said: 'hello\n',
      });
      const socks = await sh(`curl -sS --noproxy '' -x "$CAISSON_SOCKS_PROXY" http://files.test:${port}/hello`);
      expect(socks).toEqual({ exitCode: 0, said: 'hello\n' });
    });

    test('what is refused is told in words, and nothing is asked of it', async () => {
      const { said } = await sh('curl -sS http://169.254.169.254/latest/meta-data/');
      expect(said).toMatch(/169\.254\.169\.254:80 was refused by Caisson: .*\(private_address\)/);
      expect((await sh('curl -sS --noproxy "*" http://203.0.113.80/')).exitCode).not.toBe(0);
    });

    test('git clones', async () => {
      const { exitCode, said } = await sh(
        `cd /workspace && git clone -q http://files.test:${port}/repository.git cloned && cat cloned/readme`,
      );
      expect({ exitCode, said }).toEqual({ exitCode: 0, said: 'from the repository\n' });
    });

    test('npm installs', async () => {
      const { exitCode, said } = await sh(
        `mkdir -p /workspace/n && cd /workspace/n && npm install --no-audit --no-fund --registry http://files.test:${port} tiny && cat node_modules/tiny/package.json`,
      );
      expect(exitCode, said).toBe(0);
      expect(said).toMatch(/"version":"1.0.0"/);
    });

    test('pip downloads', async () => {
      const { exitCode, said } = await sh(
        `mkdir -p /workspace/p && cd /workspace/p && python3 -m pip download -q --no-deps --disable-pip-version-check --trusted-host files.test --index-url http://files.test:${port}/simple tiny && ls`,
      );
      expect(exitCode, said).toBe(0);
      expect(said).toMatch(/tiny-1\.0\.0-py3-none-any\.whl/);
    });

    test('a sandbox that was left running reaches the outside when the server is back, without any request', async () => {
      const { id } = sandbox;
      await sandbox.processes.start(
        `while sleep 0.1; do curl -sS -m 2 http://files.test:${port}/beat >/dev/null 2>&1; done`,
        { tags: ['beat'] } as never,
      );
      const beats = () => files.asked.filter(({ url }) => url === '/beat').length;
      await expect.poll(beats, { timeout: 30_000 }).toBeGreaterThan(0);
      server = await server.restart();
      const before = beats();
      await expect.poll(beats, { timeout: 20_000 }).toBeGreaterThan(before + 1);
      sandbox = await client().sandboxes.get(id);
      await sh('pkill curl; pkill sleep; true', 'root');
    }, 120_000);

    test('the way out is there after a rollback, in a fork, and after a stop and a start', async () => {
      const hello = async (one: SandboxHandle) => (await one.exec(`curl -sS http://files.test:${port}/hello`)).stdout;
      const spec = {
        source: { kind: 'none' },
        os: 'host',
        runtime: { ociRuntime: runtime, persistence: 'persistent' },
      };
      const kept = await client().sandboxes.create({ spec: spec as never });
      const { id } = await kept.snapshot({ name: 'one' });
      await kept.rollback(id);
      expect(await hello(kept)).toBe('hello\n');
      const [fork] = await kept.fork({ count: 1 });
      expect(await hello(fork as SandboxHandle)).toBe('hello\n');
      await kept.stop();
      await kept.start();
      expect(await hello(kept)).toBe('hello\n');
      await Promise.all([fork?.destroy(), kept.destroy()]);
    }, 120_000);

    test('a sandbox whose network is off is offered nothing', async () => {
      const off = await client().sandboxes.create({
        spec: {
          source: { kind: 'none' },
          os: 'host',
          runtime: { ociRuntime: runtime, network: { mode: 'off' } },
        } as never,
      });
      const { stdout } = await off.exec([
        'sh',
        '-c',
        'env | grep -ci proxy; curl -sS -x http://127.0.0.1:29080 http://files.test/ 2>&1',
      ]);
      expect(stdout).toMatch(/^0\n/);
      expect(stdout).toMatch(/Failed to connect|refused/i);
      await off.destroy();
    });
  });
}

/** Debian's own, from its mirror. Called where the files are served. */
function testApt(): void {
  test('apt-get updates and installs from Debian, and what it installed fetches too', async (context) => {
    const why = whyNoRuntime('runc');
    if (why !== undefined) skip(context, why);
    await testDebianBase();
    const data = mkdtempSync(join(tmpdir(), 'caisson-api-'));
    execFileSync('cp', ['-a', '--reflink=auto', testImagesFolder, join(data, 'images')]);
    const server = await testServer({ drivers: ['oci'], egress: { open: ['127.0.0.0/8'], resolver } }, data);
    try {
      const sandbox = await new Caisson({ baseUrl: server.url }).sandboxes.create({
        spec: { source: { kind: 'none' }, os: 'debian', runtime: { ociRuntime: 'runc' } } as never,
      });
      const apt = 'apt-get update -q && apt-get install -qy --no-install-recommends curl';
      const installed = await sandbox.exec(['sh', '-c', `${apt} && curl -sS http://files.test:${port}/hello`], {
        user: 'root',
      });
      expect(installed.exitCode, installed.stderr).toBe(0);
      expect(installed.stdout).toMatch(/hello\n$/);
      await sandbox.destroy();
    } finally {
      await server.close();
    }
  }, 240_000);
}
