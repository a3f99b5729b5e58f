import { join } from 'node:path';
import { Caisson, type EgressRecord } from '@caisson/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NewEgressRow } from '../../packages/server/src/store/egress-log.ts';
import { openStore, type Store } from '../../packages/server/src/store/store.ts';
import { type TestServer, testServer } from './server.ts';

let server: TestServer;
let store: Store;
let caisson: Caisson;

beforeAll(async () => {
  server = await testServer();
  caisson = new Caisson({ baseUrl: server.url });
  // What the way out would have written.
  store = await openStore({ sqlite: join(server.folder, 'caisson.db') });
});
afterAll(async () => {
  await store.close();
  await server.close();
});

function row(sandbox: string, more: Partial<NewEgressRow> = {}): NewEgressRow {
  const nothing = { address: null, rule: null, why: null, suggestion: null, secrets: null };
  const what = { verdict: 'allowed', host: 'a.example', port: 443, protocol: 'connect' };
  return { sandbox, time: Date.now(), ...what, ...nothing, count: 1, ...more };
}

async function taken(records: AsyncIterable<EgressRecord>, count: number): Promise<(string | number)[]> {
  const seen: string[] = [];
  for await (const { host } of records) if (seen.push(host) === count) break;
  return seen;
}

test('entries are allowed, denied and removed, by any spelling', async () => {
  const { network } = await caisson.sandboxes.create();
  await network.allow(['NPM', 'a.example:443']);
  await network.deny('A.example:443');
  expect(await network.get()).toMatchObject({ allow: ['preset:npm'], deny: ['a.example:443'], revision: 2 });
  await network.allow('a.example:443');
  expect(await network.remove('npm')).toMatchObject({ allow: ['a.example:443'], deny: [], revision: 4 });
  expect(await network.remove('nothing.example')).toMatchObject({ revision: 4 });
});

test('many who add an entry at once all succeed', async () => {
  const { network } = await caisson.sandboxes.create();
  await Promise.all(Array.from({ length: 8 }, (_, n) => network.allow(`h${n}.example`)));
  expect(await network.get()).toMatchObject({ revision: 8 });
  expect((await network.get()).allow).toHaveLength(8);
});

test('faults of a change are told by their path, a stale revision as such', async () => {
  const { network } = await caisson.sandboxes.create();
  await expect(network.allow(['ok.example', 'no way'])).rejects.toMatchObject({
    code: 'request_invalid',
    problems: [{ path: 'allow[1]' }],
  });
  await network.set({ mode: 'off' });
  await expect(network.set({ mode: 'open', revision: 0 })).rejects.toMatchObject({ code: 'state_changed' });
  await expect(network.set({ mode: 'sometimes' } as never)).rejects.toMatchObject({ problems: [{ path: 'mode' }] });
});

test('the presets are there, and each of them can be allowed', async () => {
  const names = (await caisson.networkPresets()).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['npm', 'pypi', 'debian', 'github']));
  const { network } = await caisson.sandboxes.create();
  expect((await network.allow(names)).allow).toEqual(names.map((name) => `preset:${name}`));
});

test('the log is read page by page, by verdict, and as a stream that goes on where it was', async () => {
  const { id, egress } = await caisson.sandboxes.create();
  const rows = Array.from({ length: 450 }, (_, n) =>
    row(id, { host: `h${n}`, verdict: n % 2 ? 'refused' : 'allowed' }),
  );
  await store.egressUsage.add(rows, []);
  const all: EgressRecord[] = [];
  for await (const one of egress.log()) all.push(one);
  expect(all.map(({ host }) => host)).toEqual(rows.map(({ host }) => host));
  expect(await taken(egress.log({ verdict: 'refused' }), 2)).toEqual(['h1', 'h3']);
  expect(await taken(egress.follow({ after: 0 }), 450)).toHaveLength(450);
  const middle = all[400]?.position;
  expect(await taken(egress.follow({ after: middle, verdict: 'refused' }), 2)).toEqual(['h401', 'h403']);
});

test('a stream of the log says where it begins, and takes Last-Event-ID', async () => {
  const { id } = await caisson.sandboxes.create();
  await store.egressUsage.add([row(id, { host: 'one' }), row(id, { host: 'two' })], []);
  const [one] = await store.egressLog.list({ sandbox: id, after: 0, limit: 1 });
  const read = async (headers: Record<string, string>, enough: RegExp) => {
    const end = new AbortController();
    const url = `${server.url}/v1/sandboxes/${id}/egress`;
    const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal: end.signal });
    let text = '';
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(bytes);
      if (enough.test(text)) break;
    }
    end.abort();
    return text;
  };
  expect(await read({}, /\n\n/)).toBe(`: open\nid: ${await store.egressLog.end(id)}\n\n`);
  const resumed = await read({ 'last-event-id': String(one?.position) }, /data/);
  expect(resumed).toContain('"two"');
  expect(resumed).not.toContain('"one"');
});

test('usage is told by host and in all, with the limits', async () => {
  const { id, network, egress } = await caisson.sandboxes.create();
  await network.set({ limits: { totalMiB: 7 } });
  const traffic = { sentBytes: 3, receivedBytes: 4, connections: 1, allowed: 1, refused: 0 };
  await store.egressUsage.add([], [{ sandbox: id, host: 'a.example', ...traffic }]);
  expect(await egress.usage()).toEqual({
    hosts: [{ host: 'a.example', ...traffic }],
    totals: traffic,
    limits: { totalMiB: 7 },
  });
});

test('a change is an event that says by whom', async () => {
  const sandbox = await caisson.sandboxes.create();
  await sandbox.network.set({ mode: 'allowlist', allow: ['a.example'] });
  const events = [];
  for await (const event of sandbox.events({ follow: false })) events.push(event);
  const data = { revision: 1, mode: 'allowlist', allow: ['a.example'], deny: [], by: expect.any(String) };
  expect(events.at(-1)).toMatchObject({ type: 'caisson.sandbox.network', data });
});
