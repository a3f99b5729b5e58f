import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { skip } from '../../../../test/conformance/skips.ts';
import { buildVariant } from '../../build.mjs';
import { startGuest, whyNoGuest } from '../../testing/start-guest.ts';

test('a short life is clean under valgrind', async (context) => {
  const why = whyNoGuest();
  if (why !== undefined) skip(context, why);
  try {
    execFileSync('valgrind', ['--version'], { stdio: 'ignore' });
  } catch {
    skip(context, 'needs valgrind');
  }
  const binary = buildVariant('debug', { quiet: true });
  const logs = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim();
  // Children are not followed: a worker has a copy of everything the guest had, which is no leak of its own.
  const wrapper = [
    ...['valgrind', '--quiet', '--leak-check=full', '--show-leak-kinds=definite', '--child-silent-after-fork=yes'],
    `--log-file=${logs}/%p`,
  ];
  const guest = await startGuest({ binary, wrapper });
  try {
    const { processes, files } = guest.client;
    expect((await processes.exec(['sh', '-c', 'cat; exit 2'], { input: 'x'.repeat(100_000) })).stdout.length).toBe(
      100_000,
    );
    await expect(processes.exec(['/no/such'])).rejects.toThrow();
    await files.write('a/b', 'content', { parents: true });
    expect((await files.readAll('a/b')).toString()).toBe('content');
    expect((await files.list('/etc', { depth: 2 })).entries.length).toBeGreaterThan(1);
    await processes.spawn({ argv: ['sleep', '100'], pty: { rows: 5, columns: 5 } });
    await guest.loseServer();
    await guest.bringServer();
    expect(await guest.client.shutdown(100)).toBe(1);
  } finally {
    await guest.stop();
  }
  const reports = readdirSync(logs).map((name) => readFileSync(join(logs, name), 'utf8'));
  // What valgrind does not know of the kernel (TIOCGPTPEER) it says without an error.
  const errors = reports
    .join('')
    .split('\n')
    .filter((line) => /^==\d+== (?!Warning| {3}(This could|See README))/.test(line));
  expect(errors).toEqual([]);
}, 120_000);
