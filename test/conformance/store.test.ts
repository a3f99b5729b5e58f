import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { advisoryLocks } from '../../packages/server/src/store/advisory-locks.ts';
import { openPostgres, openSqlite } from '../../packages/server/src/store/database.ts';
import { DatabaseLock } from '../../packages/server/src/store/database-lock.ts';
import { move } from '../../packages/server/src/store/ledger.ts';
import { openStore } from '../../packages/server/src/store/store.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { describeStore } from './describe-store.ts';
import { put } from './store-fixtures.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-store-'));
let postgres: Postgres | undefined;

afterAll(async () => {
  await postgres?.close();
  rmSync(folder, { recursive: true });
});

describeStore('on SQLite', async () => ({ sqlite: join(folder, 'caisson.db') }));

describeStore(
  'on Postgres',
  async () => ({ postgres: postgres?.database() ?? '' }),
  async () => {
    postgres = await startPostgres();
  },
);

test('a database of a newer version is refused', async () => {
  const path = join(folder, 'newer.db');
  await (await openStore({ sqlite: path })).close();
  const { db, close } = await openSqlite(path);
  await db.updateTable('meta').set({ value: '999' }).where('key', '=', 'version').execute();
  await close();
  await expect(openStore({ sqlite: path })).rejects.toMatchObject({ code: 'data_folder_newer' });
});

test('a sandbox from before leases had terms gets those of its profile, and keeps its end', async () => {
  const path = join(folder, 'older.db');
  const store = await openStore({ sqlite: path });
  await store.hosts.seen('here', '1');
  const expiresAt = Date.now() + 3_600_000;
  const { id } = await put(store, { profile: { name: 'p', version: 2 }, expiresAt });
  const { db, close } = await openSqlite(path);
  await db.updateTable('sandboxes').set({ at_expiry: null, ttl_seconds: null }).execute();
  await close();
  expect(await store.leases.profilesWithoutTerms()).toEqual([{ name: 'p', version: 2 }]);
  const terms = { ttlSeconds: 60, maxTtlSeconds: 600, idleSeconds: null, warnSeconds: 6, atExpiry: 'stop' } as const;
  await store.leases.setTerms({ name: 'p', version: 2 }, terms);
  expect(await store.leases.profilesWithoutTerms()).toEqual([]);
  expect(await store.sandboxes.get(id)).toMatchObject({ lease: terms, expiresAt: new Date(expiresAt).toISOString() });
  expect(await store.leases.next(Date.now())).toBe(expiresAt - 6_000);
  await store.close();
});

test('credits of different tenants move at once on Postgres, also while a server holds its database', async () => {
  if (!postgres) throw new Error('Postgres was not started');
  const url = postgres.database();
  const lock = await DatabaseLock.take(url, () => {});
  const store = await openStore({ postgres: url });
  for (const tenant of ['one', 'other']) await store.credits.grant({ tenant, amountMicros: 10 });
  const { db, close } = await openPostgres(url);
  await db.transaction().execute(async (tx) => {
    await move(tx, { tenant: 'one', kind: 'grant', amount: 1 }, Date.now());
    // It would wait for the transaction around it, which waits for it.
    await store.credits.grant({ tenant: 'other', amountMicros: 2 });
  });
  expect((await store.credits.balance('one')).availableMicros).toBe(11);
  expect((await store.credits.balance('other')).availableMicros).toBe(12);
  await Promise.all([close(), store.close(), lock.close()]);
});

test('no two turns on Postgres have one number', () => {
  const numbers = Object.values(advisoryLocks);
  expect(new Set(numbers).size).toBe(numbers.length);
});

test('a Postgres that is away is told as such, and works again when it is back', async () => {
  if (!postgres) throw new Error('Postgres was not started');
  const store = await openStore({ postgres: postgres.database() });
  await store.hosts.seen('here', '1');
  await put(store, { name: 'before' });
  await postgres.crash();
  await expect(put(store, { name: 'during' })).rejects.toMatchObject({ code: 'database_unavailable' });
  await expect(store.ping()).rejects.toMatchObject({ code: 'database_unavailable' });
  await postgres.start();
  await expect(put(store, { name: 'before' })).rejects.toMatchObject({ code: 'sandbox_exists' });
  await put(store, { name: 'after' });
  await store.close();
});

test('a Postgres that is not there is told as such at the start', async () => {
  await expect(openStore({ postgres: 'postgres://nobody@127.0.0.1:1/none' })).rejects.toMatchObject({
    code: 'database_unavailable',
  });
});
