import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CaissonEvent, isTransient, replay, type Sandbox } from '@caisson/contract';
import { afterAll, describe, expect, test } from 'vitest';
import { readInstances } from '../../packages/server/src/drivers/fake/fake-backend.ts';
import { call } from '../e2e/server.ts';
import { startServerProcess } from '../server-process.ts';
import { ChaosClient } from './client.ts';
import { chooseSeed, seeded } from './seeded.ts';

/**
 * The server is killed with -9 at random moments while several clients do random things, and started again. Afterwards no
 * record is in a transient state, nothing acknowledged is missing, every sandbox's events replay to its state, and the
 * backend has exactly the instances that the records want.
 */
export function describeKills(name: string, kills: number, database: () => Promise<string | undefined>): void {
  describe(`kill -9 of the server on ${name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'caisson-kill-'));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test(`${kills} kills lose nothing and leave nothing half-done`, { timeout: 120_000 + kills * 8_000 }, async () => {
      const databaseUrl = await database();
      const seed = chooseSeed();
      const random = seeded(seed);
      const clients = Array.from({ length: 4 }, () => new ChaosClient(random));
      let server = await startServerProcess(folder, { databaseUrl });
      for (let kill = 0; kill < kills; kill += 1) {
        let killed = false;
        const { url } = server;
        const working = Promise.all(clients.map((client) => client.work(url, () => !killed)));
        await new Promise((resolve) => setTimeout(resolve, 20 + random() * 250));
        killed = true;
        await server.kill();
        await working;
        server = await startServerProcess(folder, { databaseUrl });
        await expectSettled(server.url, clients, `seed ${seed}, kill ${kill + 1}`);
      }
      await expectBackendAgrees(server.url, folder);
      await server.stop();
      expect(clients.reduce((sum, client) => sum + client.acknowledged, 0)).toBeGreaterThan(kills);
    });
  });
}

async function expectSettled(url: string, clients: readonly ChaosClient[], when: string): Promise<void> {
  for (const client of clients) await client.finish(url);
  const records = await settledRecords(url, when);
  const byRequest = new Map<string, string>();
  for (const sandbox of records.values()) {
    const request = sandbox.labels.request ?? '';
    expect(byRequest.has(request), `${when}: two sandboxes of one request`).toBe(false);
    byRequest.set(request, sandbox.id);
  }
  for (const client of clients) {
    for (const one of client.known) {
      const sandbox = records.get(one.id);
      if (!sandbox) throw new Error(`${when}: ${one.id} was acknowledged and is missing`);
      expect(
        ChaosClient.allows(one, sandbox),
        `${when}: ${JSON.stringify(one)} but ${sandbox.state}.${sandbox.incarnation}`,
      ).toBe(true);
      Object.assign(one, { state: sandbox.state, incarnation: sandbox.incarnation, asked: null });
    }
  }
  await expectReplays(url, records, when);
}

/** Every record, when none is on its way any more. */
async function settledRecords(url: string, when: string): Promise<Map<string, Sandbox>> {
  for (let round = 0; round < 500; round += 1) {
    const records = new Map<string, Sandbox>();
    for await (const sandbox of pages<Sandbox>(url, '/v1/sandboxes?all=true&limit=200'))
      records.set(sandbox.id, sandbox);
    const open = [...records.values()].filter(({ state }) => isTransient(state) || state === 'requested');
    if (open.length === 0) return records;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${when}: some records never settled`);
}

async function expectReplays(url: string, records: ReadonlyMap<string, Sandbox>, when: string): Promise<void> {
  const logs = new Map<string, CaissonEvent[]>();
  let last = 0;
  for await (const event of pages<CaissonEvent>(url, '/v1/events?limit=200')) {
    expect(event.position).toBeGreaterThan(last);
    last = event.position;
    logs.set(event.subject, [...(logs.get(event.subject) ?? []), event]);
  }
  expect(new Set(logs.keys())).toEqual(new Set(records.keys()));
  for (const [id, events] of logs) {
    expect(replay(events), `${when}: the events of ${id}`).toEqual({ state: records.get(id)?.state, action: null });
  }
}

async function expectBackendAgrees(url: string, folder: string): Promise<void> {
  const wanted: string[] = [];
  for await (const { id, state, incarnation } of pages<Sandbox>(url, '/v1/sandboxes?limit=200')) {
    if (state === 'ready') wanted.push(`${id}.${incarnation}`);
  }
  // The reconciler ends what no record wants at its next pass.
  for (let round = 0; ; round += 1) {
    const present = instances(folder);
    if (JSON.stringify(present) === JSON.stringify(wanted.sort()) || round > 300)
      return expect(present).toEqual(wanted.sort());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function instances(folder: string): string[] {
  return [...readInstances(join(folder, 'fake'))]
    .filter(([, { status }]) => status === 'running')
    .map(([name]) => name)
    .sort();
}

async function* pages<T>(url: string, path: string): AsyncGenerator<T> {
  for (let after: string | null = ''; after !== null; ) {
    const { status, body } = await call(url, 'GET', `${path}${after && `&after=${after}`}`);
    expect(status).toBe(200);
    yield* body.items as T[];
    after = body.next;
  }
}
