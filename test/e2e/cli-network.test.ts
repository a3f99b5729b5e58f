import { join } from 'node:path';
import type { EgressRecord, Sandbox, SandboxNetwork } from '@caisson/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore, type Store } from '../../packages/server/src/store/store.ts';
import { CliWorld } from './cli-world.ts';

const world = new CliWorld();
let store: Store;
let id: Sandbox['id'];
const network = (...args: string[]) => world.json<SandboxNetwork>(['network', ...args]);

beforeAll(async () => {
  await world.run(['secret', 'set', 'token', '--domain', 'a.example'], { stdin: 'x\n' });
  const flags = ['--network', 'allowlist', '--allow', 'npm', '--allow', 'A.example:443', '--deny', 'b.example'];
  ({ id } = await world.json<Sandbox>(['create', '--name', 'web', ...flags, '--secret', 'token']));
  store = await openStore({ sqlite: join(world.data, 'caisson.db') });
  const row = { sandbox: id, time: Date.now(), host: 'c.example', port: 443, protocol: 'connect', address: null };
  const nothing = { rule: null, secrets: null, count: 1 };
  await store.egressUsage.add(
    [
      { ...row, ...nothing, verdict: 'allowed', host: 'a.example', rule: 'a.example:443', why: null, suggestion: null },
      { ...row, ...nothing, verdict: 'refused', why: 'not_allowed', suggestion: 'c.example:443', count: 4 },
    ],
    [{ sandbox: id, host: 'a.example', sentBytes: 1, receivedBytes: 2, connections: 1, allowed: 1, refused: 0 }],
  );
}, 120_000);
afterAll(async () => {
  await store?.close();
  await world.run(['stop-server']);
  await world.close();
});

test('the flags of a create are the rules that its sandbox begins with', async () => {
  expect(await network('get', id)).toEqual({
    mode: 'allowlist',
    allow: ['preset:npm', 'a.example:443'],
    deny: ['b.example'],
    limits: {},
    secrets: ['token'],
    revision: 0,
    isChanged: false,
  });
});

test('entries are allowed, denied and removed; lists, limits and the mode are set', { timeout: 120_000 }, async () => {
  expect(await network('allow', 'web', 'pypi', 'b.example')).toMatchObject({ deny: [], revision: 1 });
  expect(await network('deny', 'web', 'd.example')).toMatchObject({ deny: ['d.example'], revision: 2 });
  const removed = await network('remove', 'web', 'PyPI', 'd.example');
  expect(removed).toMatchObject({ allow: ['preset:npm', 'a.example:443', 'b.example'], deny: [] });
  const limited = await network('set', 'web', '--no-allow', '--deny', 'e.example', '--connections', '5');
  expect(limited).toMatchObject({ allow: [], deny: ['e.example'], limits: { connections: 5 }, mode: 'allowlist' });
  const both = await network('set', 'web', '--total-mib', '9', '--mode', 'open', '--no-secret');
  expect(both).toMatchObject({ limits: { connections: 5, totalMiB: 9 }, mode: 'open', secrets: [] });
  expect(await network('set', 'web', '--no-limits')).toMatchObject({ limits: {}, deny: ['e.example'] });
  const stale = await world.run(['network', 'set', 'web', '--mode', 'off', '--revision', '1']);
  expect(stale).toMatchObject({ out: '', err: expect.stringContaining('code: state_changed') });
  const noted = await world.run(['network', 'allow', 'web', 'npm']);
  expect(noted.out).toMatch(/^mode +open\nallow +preset:npm\n/);
  expect(noted.err).toContain('caisson network set web --mode allowlist');
});

test('a fault is told with its place and what was probably meant', async () => {
  const { code, err } = await world.run(['network', 'allow', 'web', 'npn']);
  expect(code).toBe(65);
  expect(err).toMatch(/allow\[\d\]: There is no preset `npn`[\s\S]*`npm`/);
});

test('presets are listed', async () => {
  expect((await world.run(['network', 'presets'])).out).toMatch(/^pypi +.*pypi\.org:443/m);
});

test('the log is lines for people, and documents for programs', async () => {
  const { out } = await world.run(['egress', 'log', 'web']);
  const [allowed, refused] = out.trimEnd().split('\n');
  expect(allowed).toMatch(/ {2}allowed {2}a\.example:443 {2}connect {2}by a\.example:443$/);
  expect(refused).toMatch(
    / {2}refused {2}c\.example:443 {2}connect {2}no rule allows it {2}\(4 times\) {2}allow it: caisson network allow web c\.example:443$/,
  );
  const only = await world.run(['egress', 'log', 'web', '--refused', '--json']);
  expect(only.out.trimEnd().split('\n')).toHaveLength(1);
  expect(JSON.parse(only.out) as EgressRecord).toMatchObject({ host: 'c.example', why: 'not_allowed', count: 4 });
  const followed = await world.run(['egress', 'log', 'web', '-f', '--after', '0', '--limit', '2']);
  expect(followed.out).toBe(out);
});

test('usage is a table', async () => {
  const { out } = await world.run(['egress', 'usage', 'web']);
  expect(out).toMatch(/^a\.example +1 B +2 B +1 +1 +0$/m);
});
