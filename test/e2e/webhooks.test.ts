import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Caisson, verifyWebhook } from '@caisson/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../events/receiver.ts';
import { makeCertificates } from '../network/certificates.ts';
import { slowness } from '../slowness.ts';
import { type TestServer, testServer } from './server.ts';

const folder = mkdtempSync(join(tmpdir(), 'caisson-hooks-'));
const eventsFile = join(folder, 'events.jsonl');
const certificates = makeCertificates('hooks.test', 'other.test');
let server: TestServer;
let caisson: Caisson;
let receiver: Receiver;

beforeAll(async () => {
  writeFileSync(join(folder, 'roots.pem'), certificates.authority);
  const names = new Map([
    ['hooks.test', ['127.0.0.1']],
    ['metadata.test', ['169.254.169.254']],
    ['inside.test', ['10.0.0.1', '127.0.0.2']],
  ]);
  server = await testServer({
    sinks: {
      ...{ open: ['127.0.0.1'], rootsFile: join(folder, 'roots.pem'), eventsFile },
      resolver: { resolve: async (name) => names.get(name) ?? [] },
      retry: { maxTries: 3, ms: 20 },
    },
  });
  caisson = new Caisson({ baseUrl: server.url });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const { id } of await caisson.webhooks.list()) await caisson.webhooks.remove(id);
  await receiver.close();
});

const typesOf = ({ deliveries }: Receiver) => deliveries.map(({ event }) => event.type.split('.').at(-1));

test('events of the project arrive as they are in the log, and their signature is right', async () => {
  const { secret, id } = await caisson.webhooks.add({ url: receiver.url });
  expect(JSON.stringify(await caisson.webhooks.list())).not.toContain(secret);
  const sandbox = await caisson.sandboxes.create();
  await receiver.until(3);
  expect(typesOf(receiver)).toEqual(['requested', 'provisioning', 'ready']);
  const [first] = receiver.deliveries;
  if (!first) throw new Error('nothing came');
  expect(first.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
  const headers = first.headers as Record<string, string>;
  const event = await verifyWebhook(secret, headers, first.body);
  expect(event).toMatchObject({ subject: sandbox.id, type: 'caisson.sandbox.requested', sequence: 1 });
  const other = `whsec_${btoa('0'.repeat(32))}`;
  await expect(verifyWebhook(other, headers, first.body)).rejects.toMatchObject({ code: 'unauthenticated' });
  await expect(verifyWebhook(secret, headers, `${first.body} `)).rejects.toMatchObject({ code: 'unauthenticated' });
  const late = { now: Date.now() + 3_600_000 };
  await expect(verifyWebhook(secret, headers, first.body, late)).rejects.toMatchObject({ code: 'unauthenticated' });
  await expect.poll(async () => (await caisson.webhooks.get(id)).position, { timeout: 30_000 }).toBeGreaterThan(2);
});

test('only what was asked for is delivered: by type, and by the labels of sandboxes', async () => {
  await caisson.webhooks.add({ url: receiver.url, types: ['caisson.sandbox.ready'], labels: { team: 'a' } });
  await caisson.sandboxes.create();
  await caisson.sandboxes.create({ labels: { team: 'b' } });
  const { id } = await caisson.sandboxes.create({ labels: { team: 'a' } });
  await receiver.until(1);
  expect(receiver.deliveries.map(({ event }) => [event.subject, event.type])).toEqual([[id, 'caisson.sandbox.ready']]);
});

test('while a secret is replaced both sign, and whoever has either is served', async () => {
  const { id, secret } = await caisson.webhooks.add({ url: receiver.url, types: ['caisson.sandbox.ready'] });
  const rotated = await caisson.webhooks.rotate(id);
  expect(rotated.secret).not.toBe(secret);
  await caisson.sandboxes.create();
  await receiver.until(1);
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.deliveries;
  for (const one of [secret, rotated.secret])
    expect(await verifyWebhook(one, headers as Record<string, string>, body)).toMatchObject({ tenant: 'local' });
});

test.each([
  ['a private address', 'https://10.0.0.1/'],
  ['loopback that is not opened', 'https://127.0.0.2/'],
  ['loopback in another spelling', 'https://0x7f.2/'],
  ['metadata of a cloud', 'http://169.254.169.254/latest'],
  ['loopback of IPv6', 'https://[::1]/'],
  ['plain HTTP to the public', 'http://192.0.2.7/'],
])('%s is refused when it is added', async (_, url) => {
  await expect(caisson.webhooks.add({ url })).rejects.toMatchObject({ code: 'webhook_url_refused' });
});

test.each([
  ['ftp://hooks.example.com/'],
  ['https://user:secret@hooks.example.com/'],
  ['hooks.example.com'],
  [`https://hooks.example.com/${'a'.repeat(3_000)}`],
])('what is no address to deliver to is refused: %s', async (url) => {
  await expect(caisson.webhooks.add({ url })).rejects.toMatchObject({ code: 'request_invalid' });
});

test.each([
  ['https://metadata.test/', /169\.254\.169\.254 may not be reached/],
  ['https://inside.test/', /10\.0\.0\.1 may not be reached/],
  ['https://nowhere.test/', /has no address/],
])('a name is judged by the addresses that it has when something is delivered: %s', async (url, why) => {
  const { id } = await caisson.webhooks.add({ url });
  const tested = await caisson.webhooks.test(id);
  expect(tested).toMatchObject({ ok: false, status: null });
  expect(tested.error).toMatch(why);
});

test('TLS is checked: the certificate must be trusted and for that name', async () => {
  const port = async (name: string) => {
    const listening = createTlsServer(certificates.of(name), (request, response) => {
      request.resume();
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    return { port: (listening.address() as AddressInfo).port, close: () => listening.close() };
  };
  const [right, wrong] = [await port('hooks.test'), await port('other.test')];
  const good = await caisson.webhooks.add({ url: `https://hooks.test:${right.port}/` });
  expect(await caisson.webhooks.test(good.id)).toMatchObject({ ok: true, status: 204 });
  const bad = await caisson.webhooks.add({ url: `https://hooks.test:${wrong.port}/` });
  expect((await caisson.webhooks.test(bad.id)).error).toMatch(/TLS with hooks\.test:\d+ failed/);
  right.close();
  wrong.close();
});

test('a redirect is not followed, and what it answers is not taken for success', async () => {
  let asked = 0;
  receiver.answer = (_, response) => {
    asked += 1;
    response.writeHead(302, { location: receiver.url }).end();
  };
  const { id } = await caisson.webhooks.add({ url: receiver.url });
  expect(await caisson.webhooks.test(id)).toMatchObject({
    ok: false,
    status: 302,
    error: 'it answered 302; redirects are not followed',
  });
  expect(asked).toBe(1);
});

test('an answer without end, a torn connection and a wild head harm nobody', async () => {
  const { id } = await caisson.webhooks.add({ url: receiver.url });
  receiver.answer = (_, response) => {
    response.writeHead(200);
    const flood = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      if (!response.destroyed) response.once('drain', flood);
    };
    flood();
  };
  expect(await caisson.webhooks.test(id)).toMatchObject({ ok: true, status: 200 });
  receiver.answer = (_, response) => void response.socket?.destroy();
  expect(await caisson.webhooks.test(id)).toMatchObject({ ok: false, status: null });
  receiver.answer = (_, response) => void response.socket?.end('HTTP/1.1 200 OK\r\nX: \u0000\r\n\r\n');
  expect(await caisson.webhooks.test(id)).toMatchObject({ ok: false, status: null });
});

test('a webhook that is replayed, rotated and removed at once delivers nothing any more', async () => {
  const other = await startReceiver();
  const { id } = await caisson.webhooks.add({ url: receiver.url });
  const after = (await caisson.webhooks.get(id)).position;
  const again = () => caisson.webhooks.replay(id, after);
  const all = [again(), again(), caisson.webhooks.rotate(id), again(), caisson.webhooks.remove(id), again(), again()];
  const outcomes = await Promise.allSettled(all);
  const codes = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
  expect(codes.filter((code) => code !== 'webhook_not_found')).toEqual([]);
  await expect(caisson.webhooks.get(id)).rejects.toMatchObject({ code: 'webhook_not_found' });
  const { id: stays } = await caisson.webhooks.add({ url: other.url });
  await Promise.all([1, 2, 3].map(() => caisson.webhooks.replay(stays, after)));
  const sandbox = await caisson.sandboxes.create();
  const own = () =>
    other.deliveries.filter(({ event }) => event.subject === sandbox.id).map(({ event }) => event.sequence);
  await expect.poll(own, { timeout: 10_000 * slowness }).toEqual([1, 2, 3]);
  expect(receiver.deliveries).toEqual([]);
  await other.close();
});

test('what is refused again and again is given up with its reason, and comes again with a replay', async () => {
  const { id } = await caisson.webhooks.add({ url: receiver.url });
  receiver.answer = ({ event }, response) =>
    void response.writeHead(event.type === 'caisson.sandbox.provisioning' ? 503 : 204).end();
  const sandbox = await caisson.sandboxes.create();
  await receiver.until(2);
  expect(typesOf(receiver)).toEqual(['requested', 'ready']);
  const letters = [];
  for await (const letter of caisson.webhooks.deadLetters(id)) letters.push(letter);
  expect(letters).toEqual([
    expect.objectContaining({ subject: sandbox.id, tries: 3, error: 'it answered 503', type: expect.any(String) }),
  ]);
  expect(await caisson.webhooks.get(id)).toMatchObject({ deadLetters: 1 });
  receiver.answer = undefined;
  await caisson.webhooks.replay(id, (letters[0]?.position ?? 1) - 1);
  await receiver.until(4);
  expect(typesOf(receiver)).toEqual(['requested', 'ready', 'provisioning', 'ready']);
  await expect(caisson.webhooks.replay(id, 1e9)).rejects.toMatchObject({ code: 'request_invalid' });
});

test('the events file has every event of the log, in order for each sandbox', async () => {
  const { id } = await caisson.sandboxes.create();
  const own = () =>
    readFileSync(eventsFile, 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
      .filter(({ subject }) => subject === id)
      .map(({ sequence }) => sequence);
  await expect.poll(own, { timeout: 30_000 }).toEqual([1, 2, 3]);
});

test('events are listed and followed by type and label', async () => {
  const { id } = await caisson.sandboxes.create({ labels: { stream: 'this' } });
  await caisson.sandboxes.create();
  const wanted = { labels: { stream: 'this' }, types: ['caisson.sandbox.ready', 'caisson.sandbox.requested'] } as const;
  const seen = [];
  for await (const event of caisson.events({ follow: false, ...wanted })) seen.push(event);
  expect(seen.map(({ subject, sequence }) => [subject, sequence])).toEqual([
    [id, 1],
    [id, 3],
  ]);
  const followed = caisson.events({ after: 0, ...wanted });
  expect((await followed.next()).value).toEqual(seen[0]);
  expect((await followed.next()).value).toEqual(seen[1]);
  await followed.return();
  await expect(
    caisson.call('event.list', { query: { type: 'caisson.sandbox.nothing' as never } }),
  ).rejects.toMatchObject({ code: 'request_invalid' });
});
