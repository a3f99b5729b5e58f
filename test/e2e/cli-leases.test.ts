import type { ExpireReport, Sandbox, Webhook } from '@caisson/contract';
import { afterAll, expect, test } from 'vitest';
import { startReceiver } from '../events/receiver.ts';
import { CliWorld } from './cli-world.ts';

const world = new CliWorld();
afterAll(async () => {
  await world.run(['stop-server']);
  await world.close();
});

test('a lease is extended, and what ends soon is told', async () => {
  const made = await world.json<Sandbox>([
    'create',
    '--name',
    'web',
    '--ttl',
    '2h',
    '--at-expiry',
    'stop',
    '--idle',
    '1d',
  ]);
  expect(made.lease).toMatchObject({ ttlSeconds: 7_200, idleSeconds: 86_400, atExpiry: 'stop' });
  const extended = await world.json<Sandbox>(['extend-ttl', 'web', '30m']);
  expect(Date.parse(extended.expiresAt ?? '') - Date.parse(made.expiresAt ?? '')).toBe(1_800_000);
  const soon = await world.json<ExpireReport>(['expire', '--within', '4h', '--apply']);
  expect(soon).toMatchObject({ applied: true, items: [{ name: 'web', due: false, ended: false, atExpiry: 'stop' }] });
  expect((await world.run(['events', 'web', '--type', 'lease'])).out).toMatch(/ {2}lease {2}until \d{4}-/);
});

test('webhooks are added, tested, wound back and removed', async () => {
  const receiver = await startReceiver();
  const env = { CAISSON_WEBHOOK_OPEN: '127.0.0.1' };
  await world.run(['stop-server']);
  const added = await world.run(['webhook', 'add', receiver.url, '-t', 'ready', '-l', 'a=b'], { env });
  expect(added).toMatchObject({ code: 0, out: expect.stringMatching(/^whsec_\S+\n$/) });
  expect(await world.run(['webhook', 'add', 'https://10.0.0.1/'])).toMatchObject({ code: 65 });
  const { items } = await world.json<{ items: Webhook[] }>(['webhook', 'list']);
  expect(items).toMatchObject([{ url: receiver.url, types: ['caisson.sandbox.ready'], labels: { a: 'b' }, held: 0 }]);
  const id = items[0]?.id ?? '';
  expect((await world.run(['webhook', 'test', id])).out).toMatch(/^204 in \d+ ms\n$/);
  await receiver.close();
  expect(await world.run(['webhook', 'test', id])).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^not delivered/),
  });
  expect((await world.run(['webhook', 'replay', id, '--after', '0'])).out).toBe(`${id} goes on after 0\n`);
  expect((await world.run(['webhook', 'remove', id])).out).toBe(`${id}\n`);
});
