import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaissonError, NetworkRules } from '@caisson/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readGitAddress } from '../../packages/server/src/images/sources/git-address.ts';
import { fetchCommit, resolveRef } from '../../packages/server/src/images/sources/remote.ts';
import { Reach } from '../../packages/server/src/network/dial/reach.ts';
import { Trust } from '../../packages/server/src/network/proxy/trust.ts';
import { ClosedAddresses } from '../../packages/server/src/network/rules/closed-addresses.ts';
import { sshRemote } from '../../packages/server/src/sandbox/sources/ssh-remote.ts';
import { type GitServer, gitServer } from './git-server.ts';

/** A real ssh server, of another make than the client, which knows one key. */
const folder = mkdtempSync(join(tmpdir(), 'caisson-ssh-'));
const host = 'ssh.example.com';
const rules: NetworkRules = { mode: 'open', allow: [], deny: [], limits: {}, secrets: [] };
const { signal } = new AbortController();
let git: GitServer;
let port = 0;
let tip = '';
let between = '';
let server: ReturnType<typeof spawn>;

beforeAll(async () => {
  git = await gitServer();
  git.make('project', { 'a.txt': 'one\n' });
  git.git('project', 'commit', '-q', '--allow-empty', '-m', 'between');
  between = git.git('project', 'rev-parse', 'HEAD');
  git.git('project', 'commit', '-q', '--allow-empty', '-m', 'two');
  tip = git.git('project', 'rev-parse', 'HEAD');
  for (const name of ['host', 'key', 'other'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(folder, name)]);
  execFileSync('dropbearconvert', ['openssh', 'dropbear', join(folder, 'host'), join(folder, 'host.dropbear')], {
    stdio: 'ignore',
  });
  mkdirSync(join(folder, 'home', '.ssh'), { recursive: true, mode: 0o700 });
  execFileSync('cp', [join(folder, 'key.pub'), join(folder, 'home', '.ssh', 'authorized_keys')]);
  port = await freePort();
  // It looks for keys in the home of root, which is another one for it alone.
  const line = `mount --bind ${folder}/home /root && exec dropbear -F -E -s -r ${folder}/host.dropbear -p 127.0.0.1:${port} -P ${folder}/pid`;
  server = spawn('unshare', ['-m', 'sh', '-c', line], { stdio: 'ignore' });
  await answering(port);
});
afterAll(async () => {
  server.kill('SIGKILL');
  await git.close();
  rmSync(folder, { recursive: true });
});

const known = () => `[${host}]:${port} ${readFileSync(join(folder, 'host.pub'), 'utf8')}`;
const secret = (...parts: string[]) => ({
  name: 'deploy-key',
  value: Buffer.from(parts.join('\n')).toString('base64'),
  headersFor: () => ({}),
});
const key = (name: string) => readFileSync(join(folder, name), 'utf8');

function remote(credential: ReturnType<typeof secret> | undefined, path = join(git.folder, 'project')) {
  const reach = new Reach({
    closed: new ClosedAddresses(['127.0.0.1'], () => []),
    trust: new Trust(),
    resolver: { resolve: async () => ['127.0.0.1'] },
  });
  const address = readGitAddress(`ssh://root@${host}:${port}${path}`);
  if (!address) throw new Error('no address');
  return sshRemote({ reach, rules, address, credential });
}
const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: CaissonError) => error,
  );

test('a ref is resolved with the key, and the key stands in no process, variable or file', async () => {
  const good = secret(key('key'), '# hosts', known());
  const seen: string[] = [];
  const watching = setInterval(
    () =>
      seen.push(
        execFileSync('sh', ['-c', 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null; ls /dev/shm; true'], {
          encoding: 'latin1',
          maxBuffer: 1 << 28,
        }),
      ),
    30,
  );
  const found = await resolveRef(remote(good), undefined, signal).finally(() => clearInterval(watching));
  expect(found).toEqual({ commit: tip, branch: 'main' });
  expect(seen.join()).toContain('StrictHostKeyChecking=yes');
  const line = key('key').split('\n')[2] ?? '';
  expect(line.length).toBeGreaterThan(20);
  expect(seen.join()).not.toContain(line);
  expect(seen.join()).not.toContain(good.value);
});

test('a commit comes alone, and one that no name stands for with everything', async () => {
  for (const [commit, isWhole] of [
    [tip, false],
    [between, true],
  ] as const) {
    const fetched = await fetchCommit(remote(secret(key('key'), known())), commit, signal, async (one) => {
      let bytes = 0;
      for await (const chunk of one.pack) bytes += chunk.length;
      return { ...one, bytes };
    });
    expect(fetched).toMatchObject({ isWhole, shallow: isWhole ? [] : [tip] });
    expect(fetched.bytes).toBeGreaterThan(100);
  }
});

test.each<[string, () => Parameters<typeof remote>, string, RegExp]>([
  ['without a key', () => [undefined], 'source_denied', /wants a key/],
  [
    'with a key that it does not know',
    () => [secret(key('other'), known())],
    'source_denied',
    /refuses the key in the secret `deploy-key`/,
  ],
  ['whose own key is not known', () => [secret(key('key'))], 'source_denied', /key of its host is not known/],
  [
    'whose own key is another',
    () => [
      secret(
        key('key'),
        known().replace(/AAAA\S+/, () => key('other.pub').split(' ')[1] ?? ''),
      ),
    ],
    'source_denied',
    /key of its host is not known/,
  ],
  ['with what is no key', () => [secret('hello')], 'source_denied', /is no private key/],
  [
    'without such a repository',
    () => [secret(key('key'), known()), '/nonexistent; id'],
    'source_not_found',
    /not appear to be a git repository/,
  ],
])('a host %s is told as such', async (_, wanted, code, message) => {
  const error = await failure(resolveRef(remote(...wanted()), undefined, signal));
  expect(error).toMatchObject({ code });
  expect(error?.message).toMatch(message);
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port: free } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return free;
}

async function answering(at: number): Promise<void> {
  for (;;) {
    const socket = connect(at, '127.0.0.1');
    const isThere = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
