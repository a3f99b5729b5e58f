import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, type SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestServer, testServer } from '../e2e/server.ts';
import { makeCertificates } from '../network/certificates.ts';
import { slowness } from '../slowness.ts';
import { type GitServer, gitServer } from './git-server.ts';

const host = 'git.example.com';
const token = 'token-that-only-its-host-sees';
const certificates = makeCertificates(host);

describe('a sandbox with a repository', () => {
  let git: GitServer;
  let server: TestServer;
  let caisson: Caisson;
  const folder = mkdtempSync(join(tmpdir(), 'caisson-roots-'));
  const open: SandboxHandle[] = [];

  beforeAll(async () => {
    git = await gitServer({ certificate: certificates.of(host), login: `x-access-token:${token}` });
    const rootsFile = join(folder, 'roots.pem');
    writeFileSync(rootsFile, certificates.authority);
    const resolver = { resolve: async (name: string) => (name === host ? ['127.0.0.1'] : []) };
    const egress = { open: [`127.0.0.1:${git.httpPort}`, `127.0.0.1:${git.httpsPort}`], rootsFile, resolver };
    server = await testServer({ drivers: ['oci'], egress, sourceSettings: { idleMs: 2_000 * slowness } });
    caisson = new Caisson({ baseUrl: server.url });
  }, 60_000 * slowness);
  afterAll(async () => {
    for (const sandbox of open) await sandbox.destroy();
    await server?.close();
    await git?.close();
    rmSync(folder, { recursive: true });
  }, 60_000 * slowness);

  const publicUrl = (name: string) => `http://127.0.0.1:${git.httpPort}/${name}`;
  const create = async (spec: Record<string, unknown>) => {
    const sandbox = await caisson.sandboxes.create({ spec: { os: 'host', ...spec } });
    open.push(sandbox);
    return sandbox;
  };
  const sh = async (sandbox: SandboxHandle, line: string) => {
    const { stdout, stderr } = await sandbox.exec(['/bin/sh', '-c', line]);
    return `${stdout}${stderr}`.trim();
  };

  test('has it at its place, on its branch, clean and without its past', async () => {
    git.make('plain', { 'a.txt': 'one\n', 'bin/run.sh': '#!/bin/sh\n' });
    writeFileSync(join(git.folder, 'plain', 'b.txt'), 'two\n');
    git.git('plain', 'add', '-A');
    git.git('plain', 'commit', '-qm', 'two');
    const commit = git.git('plain', 'rev-parse', 'HEAD');
    const sandbox = await create({ repo: publicUrl('plain') });
    const seen =
      'cd /workspace/repo && git rev-parse HEAD && git status -sb && git log --oneline | wc -l && ls -A && id -un';
    expect(await sh(sandbox, seen)).toBe(
      [commit, '## main...origin/main', '1', '.git', 'a.txt', 'b.txt', 'bin', 'user'].join('\n'),
    );
  });

  test('has the very commit, tag or branch that is named, and the same again when it is made again', async () => {
    const sandbox = await create({ source: { kind: 'git', url: publicUrl('plain'), ref: 'main' } });
    const before = await sh(sandbox, 'git -C /workspace/repo rev-parse HEAD');
    git.git('plain', 'commit', '-q', '--allow-empty', '-m', 'three');
    await sandbox.recreate();
    expect(await sh(sandbox, 'git -C /workspace/repo rev-parse HEAD')).toBe(before);
  });

  test('whose base has no git gets it all the same', async () => {
    const sandbox = await create({ repo: publicUrl('plain'), env: { PATH: '/nonexistent' } });
    const line = 'cd /workspace/repo && /usr/bin/git status --porcelain && /bin/ls -A && /usr/bin/stat -c %U:%a a.txt';
    expect(await sh(sandbox, line)).toBe('.git\na.txt\nb.txt\nbin\nuser:644');
  });

  describe('that is private', () => {
    const secretUrl = () => `https://${host}:${git.httpsPort}/secret`;
    beforeAll(async () => {
      git.make('secret', { 'a.txt': 'private\n' });
      const bound = { domains: [host], ports: [git.httpsPort] };
      await caisson.secrets.set('good', { value: token, ...bound });
      await caisson.secrets.set('wrong', { value: 'not-the-token', ...bound });
      await caisson.secrets.set('elsewhere', { value: token, domains: ['other.example.com'] });
    });

    test.each([
      ['without a credential', undefined, 'source_denied', /wants a credential/],
      ['with a wrong one', 'wrong', 'source_denied', /refuses the secret `wrong`/],
      ['with one that is bound to another host', 'elsewhere', 'spec_invalid', /is not for git\.example\.com/],
      ['with one that is not there', 'none', 'spec_invalid', /no secret `none`/],
    ])('%s is refused in one sentence, and nothing is left', async (_, authRef, code, message) => {
      const source = { kind: 'git', url: secretUrl(), ...(authRef ? { authRef } : {}) };
      const error = await create({ source }).catch((failed) => failed);
      expect(error).toMatchObject({ code });
      expect(error.message).toMatch(message);
      expect((await caisson.sandboxes.page({ state: ['ready'] })).items.length).toBe(open.length);
    });

    test('comes with its credential, which is found nowhere afterwards', async () => {
      const watched: string[] = [];
      const watching = setInterval(() => watched.push(processes()), 20);
      const sandbox = await create({ source: { kind: 'git', url: secretUrl(), authRef: 'good' } });
      clearInterval(watching);
      expect(await sh(sandbox, 'cat /workspace/repo/a.txt')).toBe('private');
      const { id } = await sandbox.snapshot({ name: 'after' });
      const spellings = [token, Buffer.from(`x-access-token:${token}`).toString('base64')];
      const archive = Buffer.from(
        await new Response((await caisson.snapshots.export(id, { thin: true })).content).arrayBuffer(),
      );
      const events: unknown[] = [];
      for await (const event of sandbox.events({ follow: false })) events.push(event);
      const inside = await sh(
        sandbox,
        'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; cat /workspace/repo/.git/config; ls -lR /dev/shm /tmp',
      );
      const stored = smallFiles(server.folder);
      for (const spelling of spellings) {
        expect(archive.includes(spelling)).toBe(false);
        expect(JSON.stringify(events)).not.toContain(spelling);
        expect(inside).not.toContain(spelling);
        expect(watched.join()).not.toContain(spelling);
        expect(stored.filter(({ bytes }) => bytes.includes(spelling)).map(({ path }) => path)).toEqual([]);
      }
      expect(inside).toContain(`url = ${secretUrl()}`);
    });
  });
});

/** What the server has written, less the disks of sandboxes. */
function smallFiles(folder: string): { path: string; bytes: Buffer }[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'images' ? [] : smallFiles(path);
    return entry.isFile() && statSync(path).size < 64 * 1024 ** 2 ? [{ path, bytes: readFileSync(path) }] : [];
  });
}

/** What every process of the machine was started with, and with which variables. */
function processes(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => ['cmdline', 'environ'].map((file) => readQuietly(`/proc/${name}/${file}`)).join())
    .join();
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
