import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DebianIndexes } from './debian-indexes.ts';
import { findListed } from './suite.ts';

const { signal } = new AbortController();
let folder: string;
let server: Server;
let address: string;
/** Path below the mirror → what it answers. */
let files: Map<string, Buffer>;
let requests: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'caisson-index-'));
  files = new Map();
  requests = [];
  server = createServer((request, response) => {
    requests.push(request.url ?? '');
    const body = files.get(request.url ?? '');
    response.writeHead(body ? 200 : 404).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/debian`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

function spoilIndex(bytes: Buffer): void {
  for (const path of files.keys()) if (path.includes('by-hash')) files.set(path, bytes);
}

function publish(suite: string, packages: Record<string, string>, bytes?: Buffer, form = 'gz'): void {
  const entries = Object.entries(packages).map(
    ([name, version]) => `Package: ${name}\nSource: x\nVersion: ${version}\n`,
  );
  const index = bytes ?? gzipSync(entries.join('\n'));
  const hex = createHash('sha256').update(index).digest('hex');
  const release = `Origin: Test\nMD5Sum:\n 0 1 main/x\nSHA256:\n ${hex} ${index.length} main/binary-amd64/Packages.${form}\n`;
  files.set(`/debian/dists/${suite}/InRelease`, Buffer.from(release));
  files.set(`/debian/dists/${suite}/main/binary-amd64/by-hash/SHA256/${hex}`, index);
}

function indexes(options: { now?: () => number; suites?: readonly string[] } = {}): DebianIndexes {
  const suites = (options.suites ?? ['bookworm']).map((suite) => ({ address, suite }));
  return new DebianIndexes({ folder, suitesOf: async () => suites, ...(options.now ? { now: options.now } : {}) });
}

test('the versions of all suites are known, the oldest first', async () => {
  publish('bookworm', { git: '1:2.39.2-1', curl: '7.88-1' });
  publish('bookworm-security', { git: '1:2.39.5-0', curl: '7.88-0' });
  const { index } = await indexes({ suites: ['bookworm', 'bookworm-security'] }).of('bookworm', 'amd64', signal);
  expect(index?.versionsOf('git')).toEqual(['1:2.39.2-1', '1:2.39.5-0']);
  expect(index?.versionsOf('curl')).toEqual(['7.88-0', '7.88-1']);
  expect(index?.versionsOf('constructor')).toEqual([]);
});

test('the mirror is asked again only when the index has expired, also after a restart', async () => {
  let now = 0;
  publish('bookworm', { git: '1' });
  const first = indexes({ now: () => now });
  await first.of('bookworm', 'amd64', signal);
  await first.of('bookworm', 'amd64', signal);
  await indexes({ now: () => now }).of('bookworm', 'amd64', signal);
  expect(requests).toHaveLength(2);
  publish('bookworm', { git: '2' });
  now = 7 * 3_600_000;
  const { index } = await first.of('bookworm', 'amd64', signal);
  expect(index?.versionsOf('git')).toEqual(['2']);
  expect((await readdir(folder)).filter((name) => name.endsWith('.txt'))).toHaveLength(1);
});

test('an index that did not change is not fetched again', async () => {
  let now = 0;
  publish('bookworm', { git: '1' });
  const kept = indexes({ now: () => now });
  await kept.of('bookworm', 'amd64', signal);
  now = 7 * 3_600_000;
  await kept.of('bookworm', 'amd64', signal);
  expect(requests.filter((path) => path.includes('by-hash'))).toHaveLength(1);
});

test('callers at the same time share one fetch', async () => {
  publish('bookworm', { git: '1' });
  const shared = indexes();
  await Promise.all(Array.from({ length: 5 }, () => shared.of('bookworm', 'amd64', signal)));
  expect(requests).toHaveLength(2);
});

test('a mirror that is away leaves the index of before, and says so', async () => {
  let now = 0;
  publish('bookworm', { git: '1' });
  const kept = indexes({ now: () => now });
  await kept.of('bookworm', 'amd64', signal);
  files.clear();
  now = 7 * 3_600_000;
  const opened = await kept.of('bookworm', 'amd64', signal);
  expect(opened.index?.versionsOf('git')).toEqual(['1']);
  expect(opened.notice).toContain('may be old');
});

test.each([
  ['of another digest', () => spoilIndex(gzipSync('x'))],
  ['that is not gzip', () => publish('bookworm', {}, Buffer.from('not gzip at all'))],
  ['that is not there', () => files.clear()],
  ['without a list of digests', () => files.set('/debian/dists/bookworm/InRelease', Buffer.from('Origin: x\n'))],
])('an index %s is no index, and leaves nothing behind', async (_, spoil) => {
  publish('bookworm', { git: '1' });
  spoil();
  const opened = await indexes().of('bookworm', 'amd64', signal);
  expect(opened.index).toBeUndefined();
  expect(opened.notice).toContain('cannot be read');
  expect(await readdir(folder)).toEqual([]);
});

test('what is malformed in an index is left out', async () => {
  publish('bookworm', { git: '1', '--yes': '1', 'a b': '1', curl: '$(x)' });
  const { index } = await indexes().of('bookworm', 'amd64', signal);
  expect(index?.versionsOf('git')).toEqual(['1']);
  for (const name of ['--yes', 'a', 'a b', 'curl']) expect(index?.versionsOf(name)).toEqual([]);
});

test('an index that only xz can read is read', async () => {
  const text = 'Package: git\nVersion: 3\n';
  publish('bookworm', {}, execFileSync('xz', ['--compress', '--stdout'], { input: text }), 'xz');
  const { index } = await indexes().of('bookworm', 'amd64', signal);
  expect(index?.versionsOf('git')).toEqual(['3']);
});

test('an index that is said to be xz and is not is no index', async () => {
  publish('bookworm', {}, Buffer.from('something else'), 'xz');
  const opened = await indexes().of('bookworm', 'amd64', signal);
  expect(opened).toEqual({ notice: expect.stringContaining('xz') });
});

test('a machine that knows no mirror has no index', async () => {
  expect(await indexes({ suites: [] }).of('bookworm', 'amd64', signal)).toEqual({
    notice: expect.stringContaining('no mirror'),
  });
});

test('a digest is read from the list of SHA-256 alone', () => {
  const hex = 'a'.repeat(64);
  expect(findListed(`SHA256:\n ${hex} 5 a\nSHA512:\n ${hex} 5 b\n`, 'b')).toBeUndefined();
  expect(findListed(`SHA256:\n ${hex} 5 a\n`, 'a')).toEqual({ digest: `sha256:${hex}`, size: 5 });
});
