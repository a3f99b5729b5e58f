import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson } from '@caisson/sdk';
import { afterAll, expect, test } from 'vitest';
import { openSqlite } from '../../packages/server/src/store/database.ts';
import { openStore } from '../../packages/server/src/store/store.ts';
import { balancesOfLedger } from '../conformance/ledger-sums.ts';
import { request } from '../e2e/unix-request.ts';
import { type ServerProcess, startServerProcess } from '../server-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-books-'));
let server: ServerProcess | undefined;
afterAll(async () => {
  await server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

const clients = 6;
/** Enough that the kill falls between any two writes. */
const enough = 40;

/** Creates and destroys until its server is gone. What was acknowledged is written down. */
async function live(caisson: Caisson, acknowledged: string[]): Promise<void> {
  try {
    for (;;) {
      const sandbox = await caisson.sandboxes.create({ spec: { source: { kind: 'none' } } });
      acknowledged.push(`sandbox.create ${sandbox.id}`);
      if (acknowledged.length % 3 === 0) continue;
      await sandbox.destroy();
      acknowledged.push(`sandbox.destroy ${sandbox.id}`);
    }
  } catch {
    // Killed in the middle of something that nobody was promised.
  }
}

test('a server that is killed loses no line of the audit log, no credit and no place of a quota', async () => {
  const prices = {
    asOf: '2026-11-15',
    entries: [{ driver: 'fake', perHour: 3_600_000, perCpuHour: 0, perGiBHour: 0 }],
  };
  writeFileSync(join(folder, 'prices.json'), JSON.stringify(prices));
  const acknowledged: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    server = await startServerProcess(folder);
    if (round === 0) {
      const socket = join(folder, 'server.sock');
      await request(socket, 'POST', '/v1/credits', { amountMicros: 1_000_000_000_000 });
      await request(socket, 'PUT', '/v1/quota', { limits: { sandboxes: 100_000 } });
    }
    const { url } = server;
    const before = acknowledged.length;
    const lives = Array.from({ length: clients }, () => live(new Caisson({ baseUrl: url, retries: 0 }), acknowledged));
    await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(before + enough);
    await server.kill();
    await Promise.all(lives);
  }
  server = await startServerProcess(folder);
  const done = new Set<string>();
  for await (const { action, subject } of new Caisson({ baseUrl: server.url }).audit.list())
    done.add(`${action} ${subject}`);
  expect(acknowledged.filter((deed) => !done.has(deed))).toEqual([]);
  await server.stop();

  const path = join(folder, 'caisson.db');
  const store = await openStore({ sqlite: path });
  expect(await store.quotas.repair()).toEqual([]);
  expect(await store.credits.releaseOrphans()).toEqual([]);
  await store.close();
  const { db, close } = await openSqlite(path);
  const { wrong } = await balancesOfLedger(db);
  const held = await db.selectFrom('meters').select('sandbox').where('ended_at', 'is', null).execute();
  const alive = await db.selectFrom('sandboxes').select('id').where('state', '<>', 'destroyed').execute();
  await close();
  expect(wrong).toEqual([]);
  expect(held.map(({ sandbox }) => sandbox).sort()).toEqual(alive.map(({ id }) => id).sort());
}, 120_000);
