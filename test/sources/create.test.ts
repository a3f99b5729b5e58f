import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
    server = await testServer({ drivers: ['oci'], egress, sources: { idleMs: 2_000 * slowness } });
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
});
