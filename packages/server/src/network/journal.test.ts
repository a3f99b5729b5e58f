import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CaissonError, type EgressRecord, type Id, newId } from '@caisson/contract';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openStore, type Store } from '../store/store.ts';
import type { EgressDecision } from './egress.ts';
import { Journal } from './journal.ts';

let folder: string;
let store: Store;
let journal: Journal;
let sandbox: Id<'sandbox'>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-journal-'));
  store = await openStore({ sqlite: join(folder, 'caisson.db') });
  journal = new Journal(store);
  sandbox = newId('sandbox');
});
afterEach(async () => {
  await journal.close();
  await store.close();
  rmSync(folder, { recursive: true });
});

function decision(host: string, more: Partial<EgressDecision> = {}): EgressDecision {
  return { sandbox, host, port: 443, protocol: 'connect', verdict: 'allowed', ...more };
}

const refused = { verdict: 'refused', why: 'not_allowed', suggestion: 'b.example:443' } as const;
const all = () => journal.list({ sandbox }, 0, 100);

async function record(): Promise<Id<'sandbox'>> {
  const policy = { keepTurns: 1, perTool: false, autoPauseSeconds: null, autoResume: false };
  const owner = { tenant: 'acme', project: 'web', principal: 'ada' };
  const fields = { id: sandbox, owner, name: null, slot: null, profile: null, labels: {}, driver: 'fake', notices: [] };
  const more = { host: 'here', blueprintDigest: 'd', persistence: 'ephemeral' as const, expiresAt: null, policy };
  const attempt = { id: newId('attempt'), action: 'create' as const, spec: {}, resolvedSpec: {}, blueprint: {} };
  const limits = { sandboxesPerTenant: null, sandboxesPerHost: null };
  await store.sandboxes.create({ ...fields, ...more }, { ...attempt, blueprintDigest: 'd' }, limits);
  return sandbox;
}

test('who reads sees everything that was decided before, equal decisions as one', async () => {
  for (let n = 0; n < 5; n += 1) journal.decided(decision('a.example'));
  journal.decided(decision('b.example', refused));
  expect(await all()).toMatchObject([
    { host: 'a.example', verdict: 'allowed', count: 5 },
    { host: 'b.example', ...refused, count: 1 },
  ]);
  expect(await journal.list({ sandbox, verdict: 'refused' }, 0, 100)).toHaveLength(1);
});

test('usage adds up by host, and the total has what is not written yet', async () => {
  journal.moved(sandbox, 'a.example', { sentBytes: 10, receivedBytes: 5, connections: 1 });
  expect(await journal.total(sandbox)).toBe(15);
  await journal.flush();
  journal.moved(sandbox, 'a.example', { sentBytes: 1, receivedBytes: 0, connections: 0 });
  journal.decided(decision('b.example', refused));
  expect(await journal.total(sandbox)).toBe(16);
  expect(await journal.usage(sandbox)).toEqual({
    hosts: [
      { host: 'a.example', sentBytes: 11, receivedBytes: 5, connections: 1, allowed: 0, refused: 0 },
      { host: 'b.example', sentBytes: 0, receivedBytes: 0, connections: 0, allowed: 0, refused: 1 },
    ],
    totals: { sentBytes: 11, receivedBytes: 5, connections: 1, allowed: 0, refused: 1 },
  });
});

test('the total never counts twice and never too little while bytes go on and are written', async () => {
  let moved = 0;
  const seen: [number, number, number][] = [];
  for (let round = 0; round < 30; round += 1) {
    journal.moved(sandbox, 'a.example', { sentBytes: 100, receivedBytes: 0, connections: 0 });
    moved += 100;
    const before = moved;
    const [total] = await Promise.all([journal.total(sandbox), journal.flush()]);
    seen.push([before, total, moved]);
  }
  for (const [before, total, after] of seen) {
    expect(total).toBeGreaterThanOrEqual(before);
    expect(total).toBeLessThanOrEqual(after);
  }
});

test('it writes by itself within a moment, and what is left when it closes', async () => {
  journal.decided(decision('a.example'));
  await expect.poll(() => store.egressLog.end(sandbox)).toBeGreaterThan(0);
  journal.decided(decision('b.example'));
  await journal.close();
  const records = await store.egressLog.list({ sandbox, after: 0, limit: 10 });
  expect(records.map(({ host }) => host)).toEqual(['a.example', 'b.example']);
});

test('a follower sees what was there and what comes, in order, each once', async () => {
  journal.decided(decision('h0'));
  await journal.flush();
  const end = new AbortController();
  const seen: EgressRecord[] = [];
  const following = (async () => {
    for await (const one of journal.follow({ sandbox }, 0, end.signal)) seen.push(one);
  })();
  await expect.poll(() => seen.length).toBe(1);
  for (let n = 1; n < 450; n += 1) journal.decided(decision(`h${n}`));
  journal.decided({ ...decision('elsewhere'), sandbox: newId('sandbox') });
  await expect.poll(() => seen.length).toBe(450);
  end.abort();
  await following;
  expect(seen.map(({ host }) => host)).toEqual(Array.from({ length: 450 }, (_, n) => `h${n}`));
  expect(await journal.end(sandbox)).toBe(seen.at(-1)?.position);
});

test('a store that fails loses nothing and counts nothing twice', async () => {
  const add = vi.spyOn(store.egressUsage, 'add').mockRejectedValue(new CaissonError('database_unavailable'));
  journal.decided(decision('b.example', refused));
  journal.moved(sandbox, 'b.example', { sentBytes: 7, receivedBytes: 0, connections: 1 });
  expect(await journal.flush()).toBe(false);
  journal.decided(decision('c.example', refused));
  journal.moved(sandbox, 'b.example', { sentBytes: 1, receivedBytes: 0, connections: 0 });
  expect(await journal.flush()).toBe(false);
  expect(await journal.total(sandbox)).toBe(8);
  add.mockRestore();
  // The one that failed goes first, what came since by the next.
  await journal.flush();
  await journal.flush();
  expect((await all()).map(({ host, count }) => [host, count])).toEqual([
    ['b.example', 1],
    ['c.example', 1],
  ]);
  expect((await journal.usage(sandbox)).totals).toMatchObject({ sentBytes: 8, refused: 2, connections: 1 });
});

test('a log keeps the newest ten thousand or so', async () => {
  for (let n = 0; n < 25; n += 1) {
    for (let port = 0; port < 1_000; port += 1) journal.decided(decision(`h${n}`, { port }));
    await journal.flush();
  }
  const oldest = (await journal.list({ sandbox }, 0, 1))[0]?.host ?? '';
  expect(Number(oldest.slice(1))).toBeGreaterThanOrEqual(5);
  const newest = await journal.list({ sandbox }, (await journal.end(sandbox)) - 10_000, 1);
  expect(newest).toHaveLength(1);
}, 120_000);

test('the use of a secret is an event, once for a host and minute, and the rest when it closes', async () => {
  await record();
  for (let n = 0; n < 3; n += 1) journal.decided(decision('a.example', { secrets: ['token'] }));
  await journal.flush();
  for (let n = 0; n < 2; n += 1) journal.decided(decision('a.example', { secrets: ['token'] }));
  await journal.flush();
  const uses = async () =>
    (await store.events.list({ subject: sandbox, after: 0, limit: 100 }))
      .filter(({ type }) => type === 'caisson.sandbox.secret-used')
      .map(({ data }) => data);
  expect(await uses()).toEqual([{ secret: 'token', host: 'a.example', count: 3 }]);
  await journal.close();
  expect(await uses()).toEqual([
    { secret: 'token', host: 'a.example', count: 3 },
    { secret: 'token', host: 'a.example', count: 2 },
  ]);
});
