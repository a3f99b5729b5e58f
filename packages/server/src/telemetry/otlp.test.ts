import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { OtlpExporter } from './otlp.ts';
import { Spans } from './spans.ts';

const service = { version: '1', instance: 'here' };
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function collector(status: number) {
  const seen: { request: IncomingMessage; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    seen.push({ request, body });
    response.writeHead(status).end('{}');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { seen, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

test('spans reach a collector in the form of OTLP, with the headers that were given', async () => {
  const { seen, endpoint } = await collector(200);
  const exporter = new OtlpExporter({ endpoint, headers: { 'x-tenant': 'a' }, service });
  const spans = new Spans();
  spans.trace(exporter.take);
  await spans.run('outer', { driver: 'fake' }, () => spans.run('inner', { count: 2 }, async () => {}));
  await exporter.close();
  expect(seen.map(({ request }) => [request.url, request.headers['x-tenant']])).toEqual([['/v1/traces', 'a']]);
  const [group] = JSON.parse(seen[0]?.body ?? '').resourceSpans;
  const [inner, outer] = group.scopeSpans[0].spans;
  expect(inner).toMatchObject({
    name: 'inner',
    traceId: outer.traceId,
    parentSpanId: outer.spanId,
    status: { code: 1 },
  });
  expect(outer.attributes).toEqual([{ key: 'driver', value: { stringValue: 'fake' } }]);
  expect(BigInt(outer.startTimeUnixNano) <= BigInt(inner.startTimeUnixNano)).toBe(true);
  expect(exporter.dropped).toBe(0);
});

test('a collector that refuses is told of once, and costs nobody anything', async () => {
  const { endpoint } = await collector(503);
  const troubles: string[] = [];
  const exporter = new OtlpExporter({ endpoint, service, onTrouble: (why) => troubles.push(why) });
  const spans = new Spans();
  spans.trace(exporter.take);
  for (let count = 0; count < 5_000; count += 1) await spans.run('one', {}, async () => {});
  await exporter.close();
  expect(troubles).toEqual(['it answered 503']);
  expect(exporter.dropped).toBe(5_000);
});
