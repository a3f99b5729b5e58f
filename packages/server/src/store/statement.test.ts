import { expect, test } from 'vitest';
import { openSqlite } from './database.ts';
import { migrate } from './migrate.ts';
import { statement } from './statement.ts';

interface Bounds {
  readonly profile: string;
  readonly min: number;
  readonly max: number;
}

function counted() {
  let built = 0;
  const insert = statement((queries, { profile, min, max }: Bounds) => {
    built += 1;
    return queries
      .insertInto('pools')
      .values({ profile, min_members: min, max_members: max, updated_at: 7 })
      .returning(['profile', 'min_members', 'max_members', 'updated_at']);
  });
  return { insert, built: () => built };
}

async function opened() {
  const database = await openSqlite(':memory:');
  await migrate(database);
  return database;
}

test('a statement is built once and executed with the values of each call', async () => {
  const { db, close } = await opened();
  const { insert, built } = counted();
  const row = { min_members: 1, max_members: 2, updated_at: 7 };
  expect(await insert(db, { profile: 'a', min: 1, max: 2 })).toEqual([{ ...row, profile: 'a' }]);
  // Whatever the order of the names.
  expect(await insert(db, { max: 2, min: 1, profile: 'b' })).toEqual([{ ...row, profile: 'b' }]);
  expect(built()).toBe(1);
  await close();
});

test('within a transaction a statement is part of it', async () => {
  const { db, close } = await opened();
  const { insert, built } = counted();
  await insert(db, { profile: 'kept', min: 0, max: 0 });
  const given = db.transaction().execute(async (tx) => {
    await insert(tx, { profile: 'lost', min: 0, max: 0 });
    throw new Error('back');
  });
  await expect(given).rejects.toThrow('back');
  expect(await db.selectFrom('pools').select('profile').execute()).toEqual([{ profile: 'kept' }]);
  expect(built()).toBe(1);
  await close();
});

test('each database has its own text', async () => {
  const [one, two] = [await opened(), await opened()];
  const { insert, built } = counted();
  await insert(one.db, { profile: 'a', min: 0, max: 1 });
  await insert(two.db, { profile: 'a', min: 0, max: 1 });
  expect(built()).toBe(2);
  await one.close();
  await two.close();
});
