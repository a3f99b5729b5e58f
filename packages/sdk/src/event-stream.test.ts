import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CaissonError, newId, toProblem } from '@caisson/contract';
import { afterEach, expect, test } from 'vitest';
import { Caisson } from './caisson.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serverOf(answer: (request: IncomingMessage, response: ServerResponse, count: number) => void) {
  let count = 0;
  const server = createServer((request, response) => answer(request, response, count++));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return new Caisson({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

function send(response: ServerResponse, ...positions: number[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': open\n\n');
  for (const position of positions) {
    response.write(`id: ${position}\ndata: ${JSON.stringify({ position, data: { action: null } })}\n\n`);
  }
}

async function take(events: AsyncIterable<{ position: number }>, count: number): Promise<number[]> {
  const positions: number[] = [];
  for await (const { position } of events) if (positions.push(position) === count) break;
  return positions;
}

test('a stream that breaks is resumed after the last event, and each event comes once', async () => {
  const resumed: unknown[] = [];
  const caisson = await serverOf((request, response, count) => {
    resumed.push(request.headers['last-event-id']);
    if (count === 0) send(response, 1, 2);
    if (count === 1) send(response, 2, 3);
    if (count === 2) send(response, 4);
    if (count === 0) setTimeout(() => response.destroy(), 20);
    else response.end();
  });
  expect(await take(caisson.events(), 4)).toEqual([1, 2, 3, 4]);
  expect(resumed).toEqual([undefined, '2', '3']);
});

test('an id without data is where a stream resumes before its first event', async () => {
  const resumed: unknown[] = [];
  const caisson = await serverOf((request, response, count) => {
    resumed.push(request.headers['last-event-id']);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (count === 0) response.end('id: 41\n\n');
    else response.write('id: 42\ndata: {"position":42}\n\n');
  });
  expect(await take(caisson.events(), 1)).toEqual([42]);
  expect(resumed).toEqual([undefined, '41']);
});

test('the position to begin after is told to the server', async () => {
  const caisson = await serverOf((request, response) => send(response, Number(request.headers['last-event-id']) + 1));
  expect(await take(caisson.events({ after: 7 }), 1)).toEqual([8]);
});

test('leaving the loop closes the connection', async () => {
  let closed: () => void = () => {};
  const gone = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const caisson = await serverOf((_, response) => {
    response.on('close', closed);
    send(response, 1);
  });
  await take(caisson.events(), 1);
  await gone;
});

test('an abort ends the iteration with its reason', async () => {
  const caisson = await serverOf((_, response) => send(response, 1));
  const controller = new AbortController();
  const iterate = async () => {
    for await (const _ of caisson.events({ signal: controller.signal })) controller.abort(new Error('enough'));
  };
  await expect(iterate()).rejects.toThrow('enough');
});

test('a refusal ends the iteration with its error', async () => {
  const caisson = await serverOf((_, response) => {
    const error = new CaissonError('unauthenticated');
    response.writeHead(401, { 'content-type': 'application/problem+json' }).end(JSON.stringify(toProblem(error)));
  });
  await expect(take(caisson.events(), 1)).rejects.toMatchObject({ code: 'unauthenticated' });
});

test('a server that stays away ends the iteration', async () => {
  const caisson = await serverOf((request) => request.socket.destroy());
  await expect(take(caisson.events({ reconnectSeconds: 0 }), 1)).rejects.toMatchObject({ code: 'server_unreachable' });
});

test('a sandbox on its way is waited for by its events', async () => {
  const id = newId('sandbox');
  let state = 'provisioning';
  const caisson = await serverOf((request, response) => {
    if (request.headers.accept !== 'text/event-stream') {
      const past = { items: [{ position: 1, data: { action: 'create' } }], next: null };
      const answer = request.url?.includes('/events') ? past : { id, state };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    expect(request.headers['last-event-id']).toBe('1');
    send(response);
    setTimeout(() => {
      state = 'ready';
      response.write('id: 2\ndata: {"position":2,"data":{"action":null}}\n\n');
    }, 30);
  });
  const sandbox = await caisson.sandboxes.get(id);
  const seen: number[] = [];
  await sandbox.untilSettled({ onEvent: (event) => seen.push(event.position) });
  expect(sandbox.state).toBe('ready');
  expect(seen).toEqual([1, 2]);
});
