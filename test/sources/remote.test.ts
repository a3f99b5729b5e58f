import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaissonError, NetworkRules } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packet } from '../../packages/server/src/images/sources/pkt-line.ts';
import { type Converse, fetchCommit, resolveRef } from '../../packages/server/src/images/sources/remote.ts';
import { Reach } from '../../packages/server/src/network/dial/reach.ts';
import { Trust } from '../../packages/server/src/network/proxy/trust.ts';
import { ClosedAddresses } from '../../packages/server/src/network/rules/closed-addresses.ts';
import { httpRemote } from '../../packages/server/src/sandbox/sources/http-remote.ts';
import { type GitServer, gitServer } from './git-server.ts';

const rules: NetworkRules = { mode: 'open', allow: [], deny: [], limits: {}, secrets: [] };
const { signal } = new AbortController();

let git: GitServer;
let reach: Reach;
let first = '';
let between = '';
let second = '';
let side = '';

beforeAll(async () => {
  git = await gitServer();
  const closed = new ClosedAddresses(['127.0.0.1'], () => []);
  reach = new Reach({ closed, trust: new Trust(), resolver: { resolve: async () => [] } });
  first = git.make('project', { 'a.txt': 'one\n' });
  git.git('project', 'tag', '-am', 'the first', 'v1.0');
  git.git('project', 'commit', '-q', '--allow-empty', '-m', 'between');
  between = git.git('project', 'rev-parse', 'HEAD');
  git.git('project', 'commit', '-q', '--allow-empty', '-m', 'two');
  second = git.git('project', 'rev-parse', 'HEAD');
  git.git('project', 'checkout', '-qb', 'feature/login');
  git.git('project', 'commit', '-q', '--allow-empty', '-m', 'three');
  side = git.git('project', 'rev-parse', 'HEAD');
  git.git('project', 'checkout', '-q', 'main');
  git.git('project', 'branch', 'v1.0', 'feature/login');
});
afterAll(() => git.close());

const to = (url: string, idleMs?: number): Converse => httpRemote({ reach, rules, url, credential: undefined, idleMs });
const project = () => to(`http://127.0.0.1:${git.httpPort}/project`);
const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: CaissonError) => error,
  );

describe.each([
  ['new', false],
  ['old', true],
])('a remote of the %s protocol', (_, isOld) => {
  beforeAll(() => {
    git.isOld = isOld;
  });

  test.each<[string | undefined, () => string, string | undefined]>([
    [undefined, () => second, 'main'],
    ['feature/login', () => side, 'feature/login'],
    // A tag counts before a branch of the same name, and is the commit that it was put on.
    ['v1.0', () => first, undefined],
    ['refs/heads/v1.0', () => side, 'v1.0'],
  ])('says what %s stands for', async (ref, commit, branch) => {
    expect(await resolveRef(project(), ref, signal)).toEqual({ commit: commit(), ...(branch ? { branch } : {}) });
  });

  test('says which names are near one that it does not have', async () => {
    const error = await failure(resolveRef(project(), 'mian', signal));
    expect(error).toMatchObject({ code: 'source_not_found' });
    expect(error?.message).toContain('it has no branch or tag `mian`; near: `main`');
  });

  test('gives one commit without its past, also one that no name stands for', async () => {
    for (const commit of [second, between]) {
      const folder = mkdtempSync(join(tmpdir(), 'caisson-pack-'));
      try {
        execFileSync('git', ['init', '-q', folder]);
        const { shallow, bytes } = await fetchCommit(project(), commit, signal, async (fetched) => {
          const chunks: Buffer[] = [];
          for await (const chunk of fetched.pack) chunks.push(chunk);
          return { ...fetched, bytes: Buffer.concat(chunks) };
        });
        execFileSync('git', ['-C', folder, 'index-pack', '--stdin'], {
          input: bytes,
          stdio: ['pipe', 'ignore', 'pipe'],
        });
        const objects = ['-C', folder, 'cat-file', '--batch-all-objects', '--batch-check=%(objecttype) %(objectname)'];
        const found = execFileSync('git', objects, { encoding: 'utf8' }).split('\n');
        expect(found.filter((line) => line.startsWith('commit'))).toEqual([`commit ${commit}`]);
        expect(shallow).toEqual([commit]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    }
  });

  test('without commits says so', async () => {
    execFileSync('git', ['init', '-q', join(git.folder, `empty-${isOld}`)]);
    const error = await failure(resolveRef(to(`http://127.0.0.1:${git.httpPort}/empty-${isOld}`), undefined, signal));
    expect(error).toMatchObject({ code: 'source_not_found', message: 'it has no commits yet' });
  });
});

test('a repository that is not there is not found', async () => {
  const error = await failure(resolveRef(to(`http://127.0.0.1:${git.httpPort}/none`), undefined, signal));
  expect(error).toMatchObject({ code: 'source_not_found' });
});

test('what the rules refuse is not reached, and the entry that would allow it is said', async () => {
  const asked = (own: Partial<NetworkRules>) =>
    failure(
      resolveRef(
        httpRemote({ reach, rules: { ...rules, ...own }, url: 'http://git.example.com/x', credential: undefined }),
        undefined,
        signal,
      ),
    );
  const off = await asked({ mode: 'off' });
  expect(off).toMatchObject({ code: 'source_unreachable', hint: expect.stringContaining('git.example.com:80') });
  const closed = await asked({ mode: 'allowlist', allow: ['example.org'] });
  expect(closed).toMatchObject({ code: 'source_unreachable', hint: expect.stringContaining('git.example.com') });
  const away = await failure(resolveRef(to('http://10.0.0.1/x'), undefined, signal));
  expect(away?.message).toContain('--egress-open');
});

describe('a host that', () => {
  let server: Server;
  let say: (socket: Socket) => void = () => {};
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('data', () => say(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const ask = (answer: (socket: Socket) => void) => {
    say = answer;
    const { port } = server.address() as AddressInfo;
    return failure(resolveRef(to(`http://127.0.0.1:${port}/x`, 300), undefined, signal));
  };
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/x-git-upload-pack-advertisement\r\n\r\n';

  test.each<[string, (socket: Socket) => void, string, RegExp]>([
    ['says nothing', () => {}, 'source_unreachable', /said nothing for 0.3 s/],
    ['stops in the middle', (socket) => socket.write(`${head}001e`), 'source_unreachable', /said nothing/],
    ['cuts the connection', (socket) => socket.destroy(), 'source_unreachable', /cut the connection/],
    ['ends in the middle', (socket) => socket.end(`${head}001e# serv`), 'source_failed', /middle of its answer/],
    ['speaks otherwise', (socket) => socket.end(`${head}zzzz`), 'source_failed', /does not speak the protocol/],
    [
      'is a page',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>'),
      'source_failed',
      /as a git repository does/,
    ],
    [
      'refuses',
      (socket) => socket.end('HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n'),
      'source_denied',
      /wants a credential/,
    ],
    [
      'is in trouble',
      (socket) => socket.end('HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n'),
      'source_unreachable',
      /503/,
    ],
    [
      'leads in circles',
      (socket) =>
        socket.end('HTTP/1.1 302 No\r\nlocation: /y/info/refs?service=git-upload-pack\r\ncontent-length: 0\r\n\r\n'),
      'source_failed',
      /without end/,
    ],
    [
      'leads to a file',
      (socket) =>
        socket.end(
          'HTTP/1.1 302 No\r\nlocation: file:///etc/info/refs?service=git-upload-pack\r\ncontent-length: 0\r\n\r\n',
        ),
      'source_failed',
      /another place/,
    ],
  ])('%s is told as such', async (_, answer, code, message) => {
    const error = await ask(answer);
    expect(error).toMatchObject({ code });
    expect(error?.message).toMatch(message);
  });

  test('says control characters is told without them', async () => {
    const error = await ask((socket) => socket.end(head + packet('ERR no\u001b[31m such\n')));
    expect(error?.message).toBe('it says: no [31m such');
  });
});
