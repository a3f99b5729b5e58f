import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UsageRecord } from '@caisson/contract';
import { afterEach, expect, test } from 'vitest';
import { openUsagePoster } from '../webhook-parts.ts';
import { newWebhookSecret, sign } from '../webhooks/signature.ts';
import { UsageHook } from './usage-hook.ts';

const secret = newWebhookSecret();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Received {
  readonly id: string;
  readonly positions: number[];
  readonly isSigned: boolean;
}

/** A receiver that fails as often as it is told to before it takes anything. */
async function receiver(failures: number): Promise<{ url: string; received: Received[]; refused: () => number }> {
  const received: Received[] = [];
  let refused = 0;
  const server: Server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (refused < failures) {
      refused += 1;
      response.writeHead(refused % 2 === 0 ? 500 : 302, { location: '/elsewhere' }).end('x'.repeat(10_000));
      return;
    }
    const { records } = JSON.parse(body) as { records: UsageRecord[] };
    const [id, seconds, signature] = ['id', 'timestamp', 'signature'].map((name) =>
      String(request.headers[`webhook-${name}`]),
    );
    const isSigned = sign([secret], id ?? '', Number(seconds), body)['webhook-signature'] === signature;
    received.push({ id: id ?? '', positions: records.map((one) => one.position), isSigned });
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received, refused: () => refused };
}

/** So many records, and how far somebody was told of them. */
function usageOf(count: number, told = 0) {
  const records = Array.from({ length: count }, (_, n) => ({ position: n + 1 }) as UsageRecord);
  let position = told;
  return {
    installation: 'here',
    usage: {
      told: async () => position,
      setTold: async (next: number) => {
        position = next;
      },
      list: async ({ after, limit }: { after: number; limit: number }) =>
        records.filter((one) => one.position > after).slice(0, limit),
    },
    toldNow: () => position,
  };
}

function startHook(store: ReturnType<typeof usageOf>, url: string): UsageHook {
  const hook = new UsageHook(store as never, openUsagePoster({ url, secret }, {}, 'test'), () => {});
  closing.push(() => hook.close());
  hook.start({ lookMs: 5, retryMs: () => 1 });
  return hook;
}

test('every record is told in order, in batches, signed', async () => {
  const { url, received } = await receiver(0);
  const store = usageOf(250, 5);
  startHook(store, url);
  await expect.poll(() => store.toldNow()).toBe(250);
  expect(received.flatMap(({ positions }) => positions)).toEqual(Array.from({ length: 245 }, (_, n) => n + 6));
  expect(received.map(({ id }) => id)).toEqual(['here-6-105', 'here-106-205', 'here-206-250']);
  expect(received.every(({ isSigned }) => isSigned)).toBe(true);
});

test('a receiver that fails or leads elsewhere is asked again until it takes it', async () => {
  const { url, received, refused } = await receiver(4);
  const store = usageOf(1);
  startHook(store, url);
  await expect.poll(() => store.toldNow()).toBe(1);
  expect(refused()).toBe(4);
  expect(received).toHaveLength(1);
});

test('closing ends it, also while a receiver does not answer', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  const store = usageOf(1);
  const hook = startHook(store, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await once(server, 'connection');
  await hook.close();
  expect(store.toldNow()).toBe(0);
});

test.each([
  ['file:///etc/passwd', secret],
  ['nonsense', secret],
  ['https://example.com', 'whsec_c2hvcnQ='],
  ['https://example.com', 'a long text that is no secret of a webhook'],
])('a hook to %s with the secret %j is refused at the start', (url, given) => {
  expect(() => openUsagePoster({ url, secret: given }, {}, 'test')).toThrow(/usage hook/);
});
