import { createServer as createPlain } from 'node:http';
import { Agent, createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { createSecureContext } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCertificates } from '../../../../test/network/certificates.ts';
import { askOutside } from './ask-outside.ts';

const certificates = makeCertificates('localhost');
const agent = new Agent({ keepAlive: true, secureContext: createSecureContext({ ca: [certificates.authority] }) });
const soon = () => AbortSignal.timeout(30_000);
let servers: Server[];
let at: URL;
let plain: URL;

beforeAll(async () => {
  const tls = createServer(certificates.of('localhost'), (request, response) => {
    if (request.url === '/away') return response.writeHead(302, { location: '/here' }).end();
    if (request.url === '/round') return response.writeHead(302, { location: '/round' }).end();
    if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': '10' }).write('half');
      return setImmediate(() => response.destroy());
    }
    if (request.url === '/nothing') return response.writeHead(204).end();
    return request.pipe(response.writeHead(200, { method: request.method ?? '' }));
  });
  const open = createPlain((_, response) => response.end('in the open'));
  servers = [tls, open];
  const [first, second] = await Promise.all(
    servers.map(async (server) => {
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      return (server.address() as AddressInfo).port;
    }),
  );
  at = new URL(`https://localhost:${first}/`);
  plain = new URL(`http://localhost:${second}/`);
});
afterAll(() => {
  agent.destroy();
  for (const server of servers) server.close();
});

const ask = (path: string, more: object = {}, by: Agent | undefined = agent) =>
  askOutside(new URL(path, at), { signal: soon(), ...more }, by);

test('an authority that only the agent trusts is trusted with it, and not without', async () => {
  const response = await ask('/here', { method: 'PUT', body: Buffer.from('content') });
  expect(response.headers.get('method')).toBe('PUT');
  expect(await response.text()).toBe('content');
  await expect(ask('/here', {}, new Agent())).rejects.toThrow(/certificate/);
  expect(await (await askOutside(plain, { signal: soon() }, agent)).text()).toBe('in the open');
});

test('redirects are followed a few times, or told where that is wanted', async () => {
  expect((await ask('/away')).headers.get('method')).toBe('GET');
  expect((await ask('/away', { redirect: 'manual' })).status).toBe(302);
  await expect(ask('/round')).rejects.toThrow(/redirects more than/);
});

test('an answer that breaks off fails its reader, and one without a body has none', async () => {
  await expect((await ask('/cut')).text()).rejects.toThrow();
  expect((await ask('/nothing')).body).toBeNull();
  expect((await ask('/here', { method: 'HEAD' })).status).toBe(200);
});
