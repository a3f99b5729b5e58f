import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CreditBalance, PrincipalRecord, Quota } from '@caisson/contract';
import { afterAll, expect, test } from 'vitest';
import { CliWorld } from './cli-world.ts';

const world = new CliWorld();
const entry = { driver: 'fake', perHour: 1_000_000, perCpuHour: 0, perGiBHour: 0 };
mkdirSync(world.data, { recursive: true, mode: 0o700 });
writeFileSync(join(world.data, 'prices.json'), JSON.stringify({ asOf: '2026-11-15', entries: [entry] }));
afterAll(async () => {
  await world.run(['stop-server']);
  await world.close();
});

test('a tenant is made, limited and paid for by commands', async () => {
  const made = await world.json<PrincipalRecord>([
    'principal',
    'set',
    'bot',
    '--tenant',
    'acme',
    '--type',
    'agent',
    '--role',
    'member',
  ]);
  expect(made).toMatchObject({ tenant: 'acme', name: 'bot', type: 'agent', role: 'member' });
  const quota = await world.json<Quota>(['quota', 'set', '--tenant', 'acme', '--cpus', '2.5', '--builds', 'none']);
  expect(quota.items).toContainEqual({ resource: 'cpus', used: 0, limit: 2.5 });
  expect(await world.run(['quota', 'set', '--cpus', 'many'])).toMatchObject({ code: 64 });
  const balance = await world.json<CreditBalance>(['credits', 'add', '12.000001', '--note', 'a gift']);
  expect(balance).toMatchObject({ tenant: 'local', limited: true, availableMicros: 12_000_001 });
});

test('what was paid is shown, exported as CSV and JSON, and every command left a line', async () => {
  const { id } = await world.json<{ id: string }>(['create', '--profile', 'blank']);
  expect((await world.run(['credits', 'show'])).out).toMatch(/available +11\.000001\nheld +1\n/);
  await world.json(['destroy', id]);
  expect((await world.run(['credits', 'off'])).out).toMatch(/switched off/);
  expect((await world.run(['credits', 'on'])).out).toMatch(/^tenant +local\navailable/);
  expect((await world.run(['credits', 'history'])).out).toMatch(/release .* available .*sbx[\s\S]*a gift/);
  const csv = (await world.run(['usage', 'export', '--csv'])).out.trim().split('\n');
  expect(csv[0]).toMatch(/^position,id,tenant,/);
  expect(csv.slice(1).join()).toContain(id);
  const { out } = await world.run(['audit', 'export', '--since', '1h', '--json']);
  const actions = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).action);
  const switched = ['credits.switch', 'credits.switch'];
  expect(actions).toEqual([
    ...['principal.set', 'quota.set', 'credits.add', 'sandbox.create', 'sandbox.destroy'],
    ...switched,
  ]);
});
