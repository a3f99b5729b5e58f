import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { Exchange } from './exchange.ts';
import { PortConnection } from './port-connection.ts';

/** A port that takes everything and says what it is told to say. */
class Port extends Duplex {
  taken = '';
  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    this.taken += bytes.toString('latin1');
    done();
  }
  override _read(): void {}
}

const target = { sandbox: 'sbx0000000000000000000a', port: 3000, prefix: '', domain: undefined } as const;
let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function exchanging(method: string, headers: Record<string, string>) {
  const port = new Port();
  const refused: unknown[] = [];
  let ended = 0;
  let begin: (exchange: Exchange) => void = () => {};
  const begun = new Promise<Exchange>((resolve) => {
    begin = resolve;
  });
  server = createServer((asked, response) => {
    const facts = {
      method,
      path: '/',
      rawHeaders: asked.rawHeaders,
      target,
      host: 'localhost:3000',
      remoteAddress: '192.0.2.1',
      scheme: 'http' as const,
      outsideHost: 'x',
    };
    const exchange: Exchange = new Exchange(asked, response, facts, 'here', {
      over: () => {
        ended += 1;
      },
      again: () => {},
      refuse: (error) => {
        refused.push(error);
        response.writeHead(408).end();
      },
    });
    exchange.run(new PortConnection(port));
    begin(exchange);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = request({ port: (server.address() as AddressInfo).port, method, headers });
  const response = new Promise<IncomingMessage>((resolve, reject) =>
    client.on('response', resolve).on('error', reject),
  );
  response.catch(() => {});
  client.flushHeaders();
  return { port, client, response, refused, exchange: await begun, ended: () => ended };
}

const later = (seconds: number) => performance.now() + seconds * 1000;

test('a body that stops coming is given up on', async () => {
  const { client, exchange, refused, ended } = await exchanging('POST', { 'content-length': '10' });
  client.write('x');
  exchange.look(later(29));
  expect(refused).toEqual([]);
  exchange.look(later(31));
  expect(refused).toMatchObject([{ code: 'request_timeout' }]);
  expect(ended()).toBe(1);
});

test('a body that drips is given up on, although something came just now', async () => {
  const { client, port, exchange, refused } = await exchanging('POST', { 'transfer-encoding': 'chunked' });
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    vi.advanceTimersByTime(60_000);
    client.write('drop');
    await expect.poll(() => port.taken).toContain('4\r\ndrop\r\n');
    exchange.look(performance.now() + 1_000);
    expect(refused).toMatchObject([{ code: 'request_timeout' }]);
  } finally {
    vi.useRealTimers();
  }
});

test('a port may think for ten minutes and no longer', async () => {
  const { exchange, refused } = await exchanging('GET', {});
  exchange.look(later(599));
  expect(refused).toEqual([]);
  exchange.look(later(601));
  expect(refused).toMatchObject([{ code: 'request_timeout' }]);
});

test('a client that does not read what was sent is let go', async () => {
  const { port, response, exchange, ended } = await exchanging('GET', {});
  port.push('HTTP/1.1 200 OK\r\n\r\n');
  const answer = await response;
  answer.on('error', () => {});
  for (let n = 0; n < 200; n += 1) port.push(Buffer.alloc(100_000));
  await expect.poll(() => port.isPaused()).toBe(true);
  exchange.look(later(119));
  expect(ended()).toBe(0);
  exchange.look(later(121));
  expect(ended()).toBe(1);
});

test('a port that goes on reading after its answer gets a new connection', async () => {
  const { port, response, ended } = await exchanging('POST', { 'content-length': '10' });
  port.push('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  const answer = await response;
  expect(answer.headers.connection).toBe('close');
  answer.resume();
  await expect.poll(ended).toBe(1);
  expect(port.destroyed).toBe(true);
});
