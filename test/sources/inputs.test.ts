import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestServer, testServer } from '../e2e/server.ts';
import { slowness } from '../slowness.ts';
import { type GitServer, gitServer } from './git-server.ts';
import { zipOf } from './zip-writer.ts';

let git: GitServer;
let web: Server;
let server: TestServer;
let caisson: Caisson;
const folder = mkdtempSync(join(tmpdir(), 'caisson-inputs-'));
const served = join(folder, 'served');
const open: SandboxHandle[] = [];

beforeAll(async () => {
  git = await gitServer();
  mkdirSync(join(served, 'tree', 'sub'), { recursive: true });
  writeFileSync(join(served, 'tree', 'sub', 'file.txt'), 'from an archive\n');
  execFileSync('tar', ['-C', join(served, 'tree'), '-czf', join(served, 'tree.tar.gz'), '.']);
  writeFileSync(join(served, 'broken.zip'), Buffer.concat([Buffer.from('PK\u0003\u0004'), randomBytes(1_000)]));
  writeFileSync(join(served, 'tree.zip'), zipOf([{ name: 'sub/file.txt', content: 'from a zip\n' }]));
  symlinkSync('/etc/hostname', join(served, 'out'));
  web = createServer((req, res) => {
    if (req.url === '/moved') return void res.writeHead(302, { location: '/tree.tar.gz' }).end();
    res.end(readFileSync(join(served, req.url ?? '')));
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  const ports = [git.httpPort, (web.address() as AddressInfo).port];
  const egress = { open: ports.map((port) => `127.0.0.1:${port}`) };
  server = await testServer({ drivers: ['oci'], egress, sourceSettings: { folders: [served] } });
  caisson = new Caisson({ baseUrl: server.url });
}, 60_000 * slowness);
afterAll(async () => {
  for (const sandbox of open) await sandbox.destroy();
  await server?.close();
  web?.close();
  await git?.close();
  rmSync(folder, { recursive: true });
}, 60_000 * slowness);

const repo = (name: string) => `http://127.0.0.1:${git.httpPort}/${name}`;
const page = (name: string) => `http://127.0.0.1:${(web.address() as AddressInfo).port}/${name}`;
const create = async (spec: Record<string, unknown>) => {
  const sandbox = await caisson.sandboxes.create({ spec: { os: 'host', source: { kind: 'none' }, ...spec } });
  open.push(sandbox);
  return sandbox;
};
const sh = async (sandbox: SandboxHandle, line: string) => {
  const { stdout, stderr } = await sandbox.exec(['/bin/sh', '-c', line]);
  return `${stdout}${stderr}`.trim();
};

test('submodules come along where they are asked for, at their commits and where git looks for them', async () => {
  git.make('inner', { 'inner.txt': 'inner\n' });
  git.make('outer', { 'a.txt': 'a\n' });
  git.git(
    'outer',
    '-c',
    'protocol.file.allow=always',
    'submodule',
    'add',
    '-q',
    join(git.folder, 'inner'),
    'lib/inner',
  );
  git.git('outer', 'config', '-f', '.gitmodules', 'submodule.lib/inner.url', '../inner');
  git.git('outer', 'add', '-A');
  git.git('outer', 'commit', '-qm', 'with one');
  const sandbox = await create({ source: { kind: 'git', url: repo('outer'), submodules: true } });
  const seen =
    'cd /workspace/repo && cat lib/inner/inner.txt && cat lib/inner/.git && git status --porcelain && git submodule status';
  const [file, place, status = ''] = (await sh(sandbox, seen)).split('\n');
  expect([file, place]).toEqual(['inner', 'gitdir: ../../.git/modules/lib/inner']);
  expect(status.trim()).toContain(`${git.git('inner', 'rev-parse', 'HEAD')} lib/inner`);
});

test('dotfiles are applied, settings stand at their place, and what sets a sandbox up has run', async () => {
  git.make('dotfiles', { '.bashrc': 'alias ll=ls\n', '.config/git/config': '[user]\n', 'README.md': 'mine\n' });
  mkdirSync(join(served, 'boot'), { recursive: true });
  writeFileSync(join(served, 'boot', 'install.sh'), 'id -un > "$HOME/installed"; pwd >> "$HOME/installed"\n');
  const sandbox = await create({
    source: { kind: 'archive', url: page('moved') },
    inputs: [
      { purpose: 'dotfiles', kind: 'git', url: repo('dotfiles') },
      { purpose: 'config', kind: 'archive', path: join(served, 'tree.tar.gz'), mountPath: '/opt/settings' },
      { purpose: 'config', kind: 'archive', url: page('tree.zip'), mountPath: '/opt/zipped' },
      { purpose: 'bootstrap', kind: 'folder', path: join(served, 'boot') },
    ],
  });
  expect(await sh(sandbox, 'cd && cat .bashrc .config/git/config installed; ls README.md .git 2>&1 | wc -l')).toBe(
    'alias ll=ls\n[user]\nuser\n/opt/caisson/inputs/bootstrap-1\n2',
  );
  const files =
    'cat /workspace/repo/sub/file.txt /opt/settings/sub/file.txt /opt/zipped/sub/file.txt; stat -c %U /opt/zipped/sub/file.txt';
  expect(await sh(sandbox, files)).toBe('from an archive\nfrom an archive\nfrom a zip\nuser');
});

test('a command of the spec runs in place of scripts, in the dotfiles', async () => {
  git.make('scripted', { 'install.sh': '#!/bin/sh\necho script > ~/ran\n', '.profile': 'x=1\n' });
  const inputs = [{ purpose: 'dotfiles', kind: 'git', url: repo('scripted') }];
  const script = await create({ inputs });
  expect(await sh(script, 'cat ~/ran; ls ~/.profile')).toContain('script\n');
  const command = await create({ inputs, customization: { bootstrapCommand: 'pwd > ~/ran', dotfilesManager: 'copy' } });
  expect(await sh(command, 'cat ~/ran ~/.profile')).toBe('/opt/caisson/inputs/dotfiles-1\nx=1');
});

describe('nothing of a hostile repository', () => {
  test('is run, and nothing of it leaves the sandbox', async () => {
    const odd = 'odd\u001b[31m\nname';
    git.make('hostile', {
      link: '-> /etc',
      up: '-> ../../../../../etc/passwd',
      '.gitattributes': '* filter=evil diff=evil\n',
      'hooks/post-checkout': '#!/bin/sh\ntouch /tmp/hooked\n',
      [odd]: 'odd\n',
    });
    const sandbox = await create({ source: { kind: 'git', url: repo('hostile') } });
    const seen = await sh(
      sandbox,
      'cd /workspace/repo && readlink link up && git status --porcelain && ls /tmp/hooked 2>&1 | wc -l && ls .git/hooks 2>&1 | wc -l && ls -b | head -3',
    );
    expect(seen.split('\n').slice(0, 4)).toEqual(['/etc', '../../../../../etc/passwd', '1', '1']);
    expect(readdirSync('/tmp')).not.toContain('hooked');
  });

  test('is fetched by a program that it names', async () => {
    const url = 'ext::sh -c "touch /tmp/ran-by-git"';
    git.make('naming', { '.gitmodules': `[submodule "x"]\n\tpath = x\n\turl = ${JSON.stringify(url)}\n` });
    const source = { kind: 'git', url: repo('naming'), submodules: true };
    const error = await create({ source }).catch((failed) => failed);
    expect(error).toMatchObject({ code: 'source_failed' });
    expect(error.message).toMatch(/naming: the address of its submodule `x` is not one/);
  });
});

describe('one sentence says why not, and nothing is left, of', () => {
  const sources = { kind: 'git' };
  test.each<[string, () => Record<string, unknown>, string, RegExp]>([
    [
      'a folder that is not given',
      () => ({ source: { kind: 'folder', path: '/etc' } }),
      'source_not_found',
      /may give/,
    ],
    [
      'a link out of one that is',
      () => ({ source: { kind: 'archive', path: join(served, 'out') } }),
      'source_not_found',
      /may give/,
    ],
    [
      'no zip',
      () => ({ source: { kind: 'archive', url: page('broken.zip') } }),
      'source_failed',
      /zip archive cannot be read/,
    ],
    [
      'an archive that is none',
      () => ({ source: { kind: 'archive', path: join(served, 'boot', 'install.sh') } }),
      'source_failed',
      /install\.sh/,
    ],
    [
      'a ref that is not there',
      () => ({ source: { ...sources, url: repo('dotfiles'), ref: 'mian' } }),
      'source_not_found',
      /near: `main`/,
    ],
    [
      'a commit that is not there',
      () => ({ source: { ...sources, url: repo('dotfiles'), ref: 'f'.repeat(40) } }),
      'source_not_found',
      /f{40}/,
    ],
    [
      'a network that is off',
      () => ({ source: { ...sources, url: repo('dotfiles') }, runtime: { network: { mode: 'off' } } }),
      'source_unreachable',
      /network of the spec is off/,
    ],
    [
      'dotfiles whose script fails',
      () => ({ inputs: [{ ...sources, purpose: 'dotfiles', url: repo('failing') }] }),
      'source_failed',
      /install\.sh ended with 7: no way/,
    ],
    [
      'dotfiles whose tool is not there',
      () => ({ inputs: [{ ...sources, purpose: 'dotfiles', url: repo('chezmoi') }] }),
      'source_failed',
      /chezmoi ended with 127/,
    ],
    [
      'more than fits',
      () => ({ source: { ...sources, url: repo('large') }, runtime: { resources: { diskMiB: 16 } } }),
      'disk_quota_exceeded',
      /does not fit/,
    ],
  ])(
    '%s',
    async (_, spec, code, message) => {
      if (code === 'disk_quota_exceeded') git.make('large', { 'a.bin': randomBytes(14 << 20).toString('latin1') });
      if (/script/.test(_)) git.make('failing', { 'install.sh': '#!/bin/sh\necho no way >&2\nexit 7\n' });
      if (/tool/.test(_)) git.make('chezmoi', { dot_bashrc: 'x\n' });
      const error = await create(spec()).catch((failed) => failed);
      expect(error).toMatchObject({ code });
      expect(error.message).toMatch(message);
      const { items } = await caisson.sandboxes.page({ state: ['ready'] });
      expect(items.length).toBe(open.length);
    },
    60_000 * slowness,
  );
});
