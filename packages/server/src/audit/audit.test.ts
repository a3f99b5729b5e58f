import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import { afterAll, expect, test } from 'vitest';
import type { NewAuditRow } from '../store/audit.ts';
import type { Caller } from '../tenancy/caller.ts';
import { Audit } from './audit.ts';
import { Spool } from './spool.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-audit-'));
afterAll(() => rmSync(folder, { recursive: true }));
const ada: Caller = { owner: { tenant: 'acme', project: 'web', principal: 'ada' }, scope: 'use', key: null };

/** A store that can be away, and knows a line by its id. */
function fakeStore() {
  const rows = new Map<string, NewAuditRow>();
  const store = {
    isAway: false,
    rows,
    audit: {
      async insert(more: readonly NewAuditRow[]) {
        if (store.isAway) throw new CaissonError('database_unavailable');
        for (const row of more) rows.set(row.id, row);
      },
    },
  };
  return store;
}

let count = 0;
function open(maxWaiting?: number) {
  count += 1;
  const path = join(folder, String(count));
  const store = fakeStore();
  const audit = new Audit(store as never, new Spool(path), maxWaiting);
  const inFiles = () => ['0', '1'].map((n) => readFileSync(`${path}.${n}`, 'utf8')).join('');
  return { path, store, audit, inFiles };
}

test('a line is in a file at once, and gone from there when the store has it', async () => {
  const { store, audit, inFiles } = open();
  audit.did(ada, { action: 'sandbox.create', subject: 'one' });
  expect(inFiles()).toContain('"one"');
  await audit.flush();
  expect([...store.rows.values()]).toMatchObject([{ subject: 'one', tenant: 'acme', actor: 'person' }]);
  expect(inFiles()).toBe('');
  await audit.close();
});

test('lines that come while the store is away wait for it, and none is written twice or lost', async () => {
  const { store, audit, inFiles } = open();
  store.isAway = true;
  for (let n = 0; n < 10; n += 1) {
    audit.did(ada, { action: 'x', subject: `s${n}` });
    expect(await audit.flush()).toBe(false);
  }
  store.isAway = false;
  await audit.close();
  expect([...store.rows.values()].map(({ subject }) => subject)).toEqual(Array.from({ length: 10 }, (_, n) => `s${n}`));
  expect(inFiles()).toBe('');
});

test('lines that had no room in memory are written from the files', async () => {
  const { store, audit } = open(2);
  store.isAway = true;
  for (let n = 0; n < 6; n += 1) {
    audit.did(ada, { action: 'x', subject: `s${n}` });
    if (n === 0) await audit.flush();
  }
  store.isAway = false;
  await audit.flush();
  await audit.flush();
  expect(new Set([...store.rows.values()].map(({ subject }) => subject)).size).toBe(6);
  await audit.close();
});

test('what a server left that was killed is written by the next one', async () => {
  const { path, store, audit } = open();
  store.isAway = true;
  audit.did(ada, { action: 'x', subject: 'left' });
  store.isAway = false;
  const next = new Audit(store as never, new Spool(path));
  await next.open();
  expect([...store.rows.values()]).toMatchObject([{ subject: 'left' }]);
  await next.close();
});

test('what a client says about itself is short and printable', async () => {
  const { store, audit } = open();
  audit.did(ada, { action: 'x', agent: `\u001b[31m${'é'.repeat(1_000)}` });
  await audit.flush();
  const [{ agent } = {}] = [...store.rows.values()];
  expect(agent).toMatch(/^\?\[31m\?{195}$/);
  await audit.close();
});
