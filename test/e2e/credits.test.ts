import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, type UsageRecord } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, type TestServer, testServer } from './server.ts';
import { request } from './unix-request.ts';

/** An hour of one processor and 1 GiB costs 3 credits. */
const prices = {
  asOf: '2026-11-15',
  entries: [{ driver: 'fake', perHour: 1_000_000, perCpuHour: 1_000_000, perGiBHour: 1_000_000 }],
};
const spec = { source: { kind: 'none' }, runtime: { resources: { cpus: 1, memoryMiB: 1_024 } } };
let server: TestServer;
const keys: Record<string, string> = {};

const operator = (method: string, path: string, body?: unknown) =>
  request(`${server.folder}/server.sock`, method, path, body);
const as = (key: string, method: string, path: string, body?: unknown) =>
  call(server.url, method, path, { key: keys[key] ?? key, ...(body === undefined ? {} : { body }) });
const newTenant = async (tenant: string, micros?: number) => {
  const owner = { tenant, project: 'web', principal: 'ada' };
  const { body } = await operator('POST', '/v1/keys', { name: tenant, ...owner, scope: 'manage' });
  keys[tenant] = String(body.secret);
  if (micros !== undefined) await operator('POST', '/v1/credits', { tenant, amountMicros: micros });
};

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-credits-'));
  writeFileSync(join(folder, 'prices.json'), JSON.stringify(prices));
  server = await testServer({}, folder);
});
afterAll(() => server.close());

test('a create without enough credits is refused before anything is made, with what is needed', async () => {
  await newTenant('poor', 2_999_999);
  expect(await as('poor', 'POST', '/v1/sandboxes', { spec })).toMatchObject({
    status: 402,
    body: {
      code: 'insufficient_credits',
      context: { neededMicros: 3_000_000, availableMicros: 2_999_999, perHourMicros: 3_000_000 },
    },
  });
  expect((await as('poor', 'GET', '/v1/sandboxes?all=true')).body.items).toEqual([]);
});

test('what is held is there while a sandbox lives, and what was not used is back after it', async () => {
  await newTenant('rich', 10_000_000);
  const { body: sandbox } = await as('rich', 'POST', '/v1/sandboxes', { spec });
  expect((await as('rich', 'GET', '/v1/credits')).body).toMatchObject({
    limited: true,
    availableMicros: 7_000_000,
    heldMicros: 3_000_000,
  });
  await as('rich', 'POST', `/v1/sandboxes/${sandbox.id}/pause`, {});
  expect((await as('rich', 'GET', '/v1/credits')).body.heldMicros).toBe(2_000_000);
  await as('rich', 'DELETE', `/v1/sandboxes/${sandbox.id}`);
  const { body: after } = await as('rich', 'GET', '/v1/credits');
  expect(after.heldMicros).toBe(0);
  expect(after.usedMicros).toBeGreaterThan(0);
  expect(after.availableMicros + after.usedMicros).toBe(10_000_000);
  const records: UsageRecord[] = [];
  for await (const one of new Caisson({ baseUrl: server.url, apiKey: keys.rich }).credits.exportUsage())
    records.push(one);
  expect(records.map(({ phase }) => phase)).toEqual(['running', 'paused']);
  expect(records.reduce((sum, one) => sum + one.chargedMicros, 0)).toBe(after.usedMicros);
});

test('a fork pays like a create, and one that cannot be paid leaves nothing held', async () => {
  await newTenant('forker', 5_000_000);
  const { body: sandbox } = await as('forker', 'POST', '/v1/sandboxes', { spec });
  const answer = await as('forker', 'POST', `/v1/sandboxes/${sandbox.id}/fork`, { count: 1 });
  // A backend without snapshots says so before it is asked who pays.
  expect([402, 501]).toContain(answer.status);
  expect((await as('forker', 'GET', '/v1/credits')).body.heldMicros).toBe(3_000_000);
});

test('a tenant without credits is without limit; the first grant limits what comes after', async () => {
  await newTenant('free');
  const { body: before } = await as('free', 'POST', '/v1/sandboxes', { spec });
  expect((await as('free', 'GET', '/v1/credits')).body.limited).toBe(false);
  await operator('POST', '/v1/credits', { tenant: 'free', amountMicros: 0 });
  expect((await as('free', 'POST', '/v1/sandboxes', { spec })).body.code).toBe('insufficient_credits');
  expect((await as('free', 'DELETE', `/v1/sandboxes/${before.id}`)).status).toBe(200);
});

test('credits that are switched off refuse nothing and give back what is held; only the operator switches', async () => {
  await newTenant('spared', 2_000_000);
  expect((await as('spared', 'POST', '/v1/sandboxes', { spec })).body.code).toBe('insufficient_credits');
  expect((await as('spared', 'PUT', '/v1/credits/switch', { on: false })).status).toBe(403);
  const { body: off } = await operator('PUT', '/v1/credits/switch', { tenant: 'spared', on: false });
  expect(off).toMatchObject({ off: true, limited: false, availableMicros: 2_000_000 });
  expect((await as('spared', 'POST', '/v1/sandboxes', { spec })).status).toBe(201);
  await operator('POST', '/v1/credits', { tenant: 'spared', amountMicros: 4_000_000 });
  const { body: on } = await operator('PUT', '/v1/credits/switch', { tenant: 'spared', on: true });
  expect(on).toMatchObject({ off: false, limited: true });
  // An hour of it is set aside at once.
  expect(on.heldMicros).toBeGreaterThan(2_900_000);
});

test('a tenant cannot give itself credits, nor see those of others', async () => {
  await newTenant('thief', 1);
  const grab = await as('thief', 'POST', '/v1/credits', { amountMicros: 1_000_000 });
  expect(grab.status).toBe(403);
  expect((await as('thief', 'GET', '/v1/credits?tenant=rich')).status).toBe(403);
  expect((await as('thief', 'GET', '/v1/credits/history?tenant=rich')).status).toBe(403);
  expect((await as('thief', 'GET', '/v1/credits/usage')).body.items).toEqual([]);
});

test.each([[1.5], [1e18], ['5'], [null]])('%j is no amount', async (amountMicros) => {
  const { status, body } = await operator('POST', '/v1/credits', { tenant: 'rich', amountMicros });
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'request_invalid' });
});
