import type { CaissonEvent } from '@caisson/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, type TestServer, testServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.close());

const create = async () => (await call(server.url, 'POST', '/v1/sandboxes', { body: {} })).body;

/** Reads a stream until `enough` says so, and gives what came. */
async function follow(
  path: string,
  headers: Record<string, string>,
  enough: (events: CaissonEvent[]) => boolean,
  opened = () => {},
): Promise<CaissonEvent[]> {
  const abort = new AbortController();
  const response = await fetch(`${server.url}${path}`, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const events: CaissonEvent[] = [];
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes(': open\n')) opened();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
      if (data) events.push(JSON.parse(data));
      text = text.slice(end + 2);
    }
    if (enough(events)) break;
  }
  abort.abort();
  return events;
}

test('a stream without a position begins now and brings what happens', async () => {
  await create();
  let made: { id: string } | undefined;
  const events = await follow(
    '/v1/events',
    {},
    (seen) => seen.length >= 3,
    async () => {
      made ??= await create();
    },
  );
  expect(events.map(({ type }) => type)).toEqual([
    'caisson.sandbox.requested',
    'caisson.sandbox.provisioning',
    'caisson.sandbox.ready',
  ]);
  expect(events[0]?.subject).toBe(made?.id);
});

test('Last-Event-ID goes on exactly after that event', async () => {
  for (let n = 0; n < 3; n += 1) await create();
  const all = (await call(server.url, 'GET', '/v1/events?limit=200')).body.items as CaissonEvent[];
  const middle = all[Math.floor(all.length / 2)];
  const rest = all.filter(({ position }) => position > (middle?.position ?? 0));
  const events = await follow(
    '/v1/events',
    { 'last-event-id': String(middle?.position) },
    (seen) => seen.length >= rest.length,
  );
  expect(events).toEqual(rest);
});

test('a stream of one sandbox brings its events only', async () => {
  const sandbox = await create();
  await create();
  const events = await follow(`/v1/sandboxes/${sandbox.id}/events?after=0`, {}, (seen) => seen.length >= 3);
  expect(new Set(events.map(({ subject }) => subject))).toEqual(new Set([sandbox.id]));
});

test('a reader that stops reading holds nobody up and misses nothing', async () => {
  const slow = await fetch(`${server.url}/v1/events?after=0`, { headers: { accept: 'text/event-stream' } });
  await Promise.all(Array.from({ length: 100 }, create));
  const { items } = (await call(server.url, 'GET', '/v1/events?limit=1')).body;
  expect(items).toHaveLength(1);
  const reader = slow.body?.getReader();
  let text = '';
  let open = 0;
  while (open < 300) {
    const { value } = (await reader?.read()) ?? {};
    text += new TextDecoder().decode(value);
    open = (text.match(/^id: /gm) ?? []).length;
  }
  const positions = [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));
  expect(positions).toEqual(positions.map((_, index) => index));
  await reader?.cancel();
});

test('a stream tells where it begins, so that a client cut off before the first event can go on', async () => {
  await create();
  const { items } = (await call(server.url, 'GET', '/v1/events?limit=200')).body;
  const response = await fetch(`${server.url}/v1/events`, { headers: { accept: 'text/event-stream' } });
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  expect(new TextDecoder().decode(value)).toMatch(/^: open\nid: \d+\n\n$/);
  expect(Number(/id: (\d+)/.exec(new TextDecoder().decode(value))?.[1])).toBeGreaterThanOrEqual(items.at(-1).position);
  await reader?.cancel();
});

test('a revoked key takes its open streams with it, an expired one too', async () => {
  const other = await testServer();
  const make = async (body: object, key?: string) =>
    (await call(other.url, 'POST', '/v1/keys', { body, ...(key ? { key } : {}) })).body;
  const admin = await make({ name: 'admin', scope: 'admin' });
  const [revoked, short] = [
    await make({ name: 'a' }, admin.secret),
    await make({ name: 'b', expiresInSeconds: 1 }, admin.secret),
  ];
  const open = (key: string) =>
    fetch(`${other.url}/v1/events`, { headers: { accept: 'text/event-stream', authorization: `Bearer ${key}` } });
  const reading = await Promise.all([open(revoked.secret), open(short.secret)]);
  await call(other.url, 'DELETE', `/v1/keys/${revoked.id}`, { key: admin.secret });
  for (const response of reading) expect(await response.text()).toContain(': open');
  await other.close();
});

test('clients that leave at once take no place', async () => {
  for (let round = 0; round < 12; round += 1) {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const abort = new AbortController();
        const going = fetch(`${server.url}/v1/events`, {
          headers: { accept: 'text/event-stream' },
          signal: abort.signal,
        });
        setTimeout(() => abort.abort(), Math.random() * 4);
        await going.then((response) => response.text()).catch(() => {});
      }),
    );
  }
  const response = await fetch(`${server.url}/v1/events`, { headers: { accept: 'text/event-stream' } });
  expect(response.status).toBe(200);
  await response.body?.cancel();
});

test('a wrong position is refused', async () => {
  for (const id of ['-1', 'x', '99999999999999999999']) {
    const response = await fetch(`${server.url}/v1/events`, {
      headers: { accept: 'text/event-stream', 'last-event-id': id },
    });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { code: string }).code).toBe('cursor_invalid');
  }
});

test('a server that closes ends its streams', async () => {
  const other = await testServer();
  const response = await fetch(`${other.url}/v1/events`, { headers: { accept: 'text/event-stream' } });
  const reading = response.text();
  await other.close();
  expect(await reading).toContain(': open');
});
