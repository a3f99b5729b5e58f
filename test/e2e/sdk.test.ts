import { Caisson, type CaissonEvent, type SandboxState } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CliWorld, type Running } from './cli-world.ts';

const world = new CliWorld();
let server: Running;
let address = '';
let caisson: Caisson;

async function serve(listen: string): Promise<void> {
  server = world.start(['serve', '--data', world.data, '--listen', listen]);
  [address = ''] = await server.until(/http:\/\/127\.0\.0\.1:\d+/);
}

beforeAll(async () => {
  await serve('127.0.0.1:0');
  caisson = new Caisson({ baseUrl: address });
});
afterAll(() => world.close());

test('a sandbox lives and ends through its handle', async () => {
  const sandbox = await caisson.sandboxes.create({ name: 'sdk', labels: { by: 'sdk' } });
  expect(sandbox.state).toBe('ready');
  expect((await sandbox.stop()).state).toBe('stopped');
  expect((await sandbox.start()).state).toBe('ready');
  expect((await sandbox.recreate()).record.incarnation).toBe(2);
  const actions: string[] = [];
  for await (const attempt of sandbox.attempts()) actions.push(attempt.action);
  expect(actions).toEqual(['recreate', 'start', 'create']);
  expect((await sandbox.destroy()).state).toBe('destroyed');
  expect((await sandbox.destroy()).state).toBe('destroyed');
});

test('ensure by many at once gives one sandbox', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => caisson.sandboxes.ensure({ name: 'one' })));
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
});

test('a request with the same key is answered the same, and another one is refused', async () => {
  const options = { idempotencyKey: `test-${Date.now()}` };
  const first = await caisson.sandboxes.create({ labels: { n: '1' } }, options);
  const second = await caisson.sandboxes.create({ labels: { n: '1' } }, options);
  expect(second.id).toBe(first.id);
  await expect(caisson.sandboxes.create({ labels: { n: '2' } }, options)).rejects.toMatchObject({
    code: 'idempotency_key_reused',
  });
});

test('a list goes through all pages, by state and label', async () => {
  const made = await Promise.all(
    Array.from({ length: 5 }, () => caisson.sandboxes.create({ labels: { batch: 'pages' } })),
  );
  const found: string[] = [];
  const filter = { labels: { batch: 'pages' }, state: ['ready'] as SandboxState[] };
  for await (const { id } of caisson.sandboxes.list(filter, { limit: 2 })) found.push(id);
  expect(found.sort()).toEqual(made.map(({ id }) => id).sort());
});

test('a failure is a typed error with its code', async () => {
  await expect(caisson.sandboxes.get('sbx00000000000000000000')).rejects.toMatchObject({ code: 'sandbox_not_found' });
  await expect(caisson.sandboxes.get('..')).rejects.toMatchObject({ code: 'request_invalid' });
  await expect(caisson.profiles.get('nothing')).rejects.toMatchObject({ code: 'profile_not_found' });
  await expect(caisson.spec.normalize({ repo: 7 })).rejects.toMatchObject({
    code: 'spec_invalid',
    problems: [{ path: 'repo' }],
  });
  const network = { allow: ['npm', 'nmp'] };
  await expect(caisson.spec.normalize({ source: { kind: 'none' }, runtime: { network } })).rejects.toMatchObject({
    code: 'spec_invalid',
    problems: [{ path: 'runtime.network.allow[1]', hint: 'did you mean `npm`?' }],
  });
});

test('the rest of the API answers', async () => {
  expect(await caisson.whoami()).toMatchObject({ local: true, scope: 'admin' });
  expect(await caisson.version()).toMatchObject({ api: 'v1' });
  expect((await caisson.doctor()).checks.length).toBeGreaterThan(0);
  expect(await caisson.spec.normalize({ repo: 'https://github.com/a/b' })).toMatchObject({
    blueprint: { version: '1' },
  });
  const key = await caisson.call('key.list');
  expect(key.items).toEqual([]);
});

test('a stream of events survives the death of the server and misses nothing', async () => {
  const last = await newest();
  const seen: CaissonEvent[] = [];
  const wanted = 6;
  const following = (async () => {
    for await (const event of caisson.events({ after: last })) if (seen.push(event) === wanted) break;
  })();
  const before = await caisson.sandboxes.create();
  await expect.poll(() => seen.length).toBe(3);
  server.child.kill('SIGKILL');
  await server.done;
  const port = address.split(':').at(-1) ?? '';
  await serve(port);
  const after = await caisson.sandboxes.create();
  await following;
  expect(seen.map(({ subject }) => subject)).toEqual([...Array(3).fill(before.id), ...Array(3).fill(after.id)]);
  expect(seen.every((event, index) => index === 0 || event.position > (seen[index - 1]?.position ?? 0))).toBe(true);
});

async function newest(): Promise<number> {
  let position = 0;
  for await (const event of caisson.events({ follow: false })) position = event.position;
  return position;
}
