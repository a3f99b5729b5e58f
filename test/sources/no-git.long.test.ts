import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { giveDebianBase } from '../debian-base.ts';
import { isRoot } from '../images/images-folder.ts';
import { type ServerProcess, startServerProcess } from '../server-process.ts';
import { slowness } from '../slowness.ts';
import { type GitServer, gitServer } from './git-server.ts';

/** The machine as this server sees it: with the programs of `$1`. */
const withPrograms = 'set -e; mount --make-rprivate /; mount --bind "$1" /usr; shift; exec "$@"';

describe.runIf(isRoot)('on a machine without git', { timeout: 300_000 * slowness }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-no-git-'));
  let git: GitServer;
  let server: ServerProcess;
  let caisson: Caisson;

  beforeAll(async () => {
    git = await gitServer();
    const data = join(folder, 'data');
    await giveDebianBase(data);
    // Linked where that can be, or else copied.
    const usr = join(folder, 'usr');
    execFileSync('sh', ['-c', 'cp -al /usr "$1" 2>/dev/null || { rm -rf "$1"; cp -a /usr "$1"; }', 'sh', usr]);
    rmSync(join(usr, 'bin', 'git'));
    server = await startServerProcess(data, {
      drivers: ['oci'],
      more: ['--egress-open', `127.0.0.1:${git.httpPort}`],
      under: ['unshare', '-m', 'sh', '-c', withPrograms, 'sh', usr],
    });
    caisson = new Caisson({ baseUrl: server.url, retries: 0 });
  }, 300_000 * slowness);
  afterAll(async () => {
    if (caisson) for await (const sandbox of caisson.sandboxes.list()) await sandbox.destroy();
    await server?.stop();
    await git?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 120_000 * slowness);

  test('a repository is unpacked in a room that is made, before a build and at launch', async () => {
    git.make('project', { 'a.txt': 'one\n' });
    const source = { kind: 'git', url: `http://127.0.0.1:${git.httpPort}/project` };
    const os = { family: 'debian', release: 'bookworm' };
    const spec = { os, source, setup: 'cp a.txt b.txt' };
    const built = await caisson.sandboxes.create({ spec: spec as never, waitSeconds: 300 });
    const line = 'cd /workspace/repo && cat b.txt && git status --porcelain';
    expect((await built.exec(['/bin/sh', '-c', line])).stdout).toBe('one\n?? b.txt\n');
    // The machine's own programs have none either.
    const bare = await caisson.sandboxes.create({ spec: { os: 'host', source } as never, waitSeconds: 300 });
    expect((await bare.exec(['/bin/sh', '-c', 'cat /workspace/repo/a.txt; command -v git'])).stdout).toBe('one\n');
  });
});
