import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { unixFetch } from './unix-fetch.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function socketOf(listener: RequestListener) {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-unix-'));
  const path = join(folder, 's');
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return unixFetch(path);
}

test('method, path, headers and body arrive, and so does the answer', async () => {
  const fetch = await socketOf(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method, url, headers } = request;
    response.writeHead(201, { 'x-back': 'yes' }).end(JSON.stringify({ method, url, key: headers['x-key'], body }));
  });
  const response = await fetch('http://localhost/v1/x?a=1', { method: 'POST', headers: { 'x-key': 'k' }, body: 'é' });
  expect(response.status).toBe(201);
  expect(response.headers.get('x-back')).toBe('yes');
  expect(await response.json()).toEqual({ method: 'POST', url: '/v1/x?a=1', key: 'k', body: 'é' });
});

test('a body streams piece by piece', async () => {
  let more: () => void = () => {};
  const fetch = await socketOf((_, response) => {
    response.write('one');
    more = () => response.end('two');
  });
  const reader = (await fetch('http://localhost/', {})).body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('one');
  more();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('two');
  expect((await reader?.read())?.done).toBe(true);
});

test.each([
  ['text', () => 'héllo'],
  ['bytes', () => Buffer.from('héllo')],
  ['a blob', () => new Blob(['héllo'])],
  ['a stream', () => new Blob(['héllo']).stream()],
])('a body of %s arrives as it is', async (_, body) => {
  const fetch = await socketOf((request, response) => {
    request.pipe(response);
  });
  const init = { method: 'POST', body: body() } as RequestInit;
  expect(await (await fetch('http://localhost/', init)).text()).toBe('héllo');
});

test('a slow reader holds the server back', async () => {
  let sent = 0;
  const piece = Buffer.alloc(64 * 1024);
  const fetch = await socketOf((_, response) => {
    const push = () => {
      while (sent < 1000 && response.write(piece)) sent += 1;
      response.once('drain', push);
    };
    push();
  });
  const response = await fetch('http://localhost/', {});
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(sent).toBeLessThan(100);
  await response.body?.cancel();
});

test('an abort ends a request that waits, and a body that streams', async () => {
  const fetch = await socketOf((request, response) => {
    if (request.url === '/stream') response.write('one');
  });
  for (const path of ['/wait', '/stream']) {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough')), 30);
    const run = async () => (await fetch(`http://localhost${path}`, { signal: controller.signal })).text();
    await expect(run()).rejects.toThrow();
  }
});

test('an answer that is cut off is an error, not a short answer', async () => {
  const fetch = await socketOf((_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half');
    setTimeout(() => response.destroy(), 20);
  });
  const response = await fetch('http://localhost/', {});
  await expect(response.text()).rejects.toThrow();
});

test('a socket that is not there is an error with its reason', async () => {
  await expect(unixFetch('/nonexistent/s')('http://localhost/', {})).rejects.toThrow('ENOENT');
});
