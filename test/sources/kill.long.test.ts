import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServerProcess } from '../server-process.ts';
import { slowness } from '../slowness.ts';
import { type GitServer, gitServer } from './git-server.ts';

/** A server that is killed while a repository is on its way, and the next one on the same folder. */
const folder = mkdtempSync(join(tmpdir(), 'caisson-source-kill-'));
let git: GitServer;
beforeAll(async () => {
  git = await gitServer();
});
afterAll(async () => {
  await git.close();
  rmSync(folder, { recursive: true, force: true });
});

test(
  'a repository that was on its way when the server was killed is brought by the next, once',
  async () => {
    const commit = git.make('project', { 'a.txt': 'one\n' });
    const options = { drivers: ['oci'], more: ['--egress-open', `127.0.0.1:${git.httpPort}`] };
    const url = `http://127.0.0.1:${git.httpPort}/project`;
    const first = await startServerProcess(folder, options);
    git.isHeld = false;
    const spec = { os: 'host', source: { kind: 'git', url, ref: commit } };
    git.isHeld = true;
    const made = await new Caisson({ baseUrl: first.url }).sandboxes.create({ spec, waitSeconds: 0 });
    await expect
      .poll(() => git.seen.filter((line) => line.startsWith('POST')).length, { timeout: 30_000 * slowness })
      .toBe(1);
    await first.kill();
    git.isHeld = false;
    const second = await startServerProcess(folder, options);
    try {
      const sandbox = await new Caisson({ baseUrl: second.url }).sandboxes.get(made.id);
      await expect.poll(async () => (await sandbox.refresh()).state, { timeout: 60_000 * slowness }).toBe('ready');
      const line =
        'git -C /workspace/repo rev-parse HEAD; git -C /workspace/repo status --porcelain; cat /proc/[0-9]*/comm | grep -c "^git"; true';
      const { stdout } = await sandbox.exec(['/bin/sh', '-c', line]);
      expect(stdout).toBe(`${commit}\n0\n`);
      await sandbox.destroy();
    } finally {
      await second.stop();
    }
  },
  180_000 * slowness,
);
