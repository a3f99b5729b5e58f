import { createHash } from 'node:crypto';
import type { OpenedPort, SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { skip } from '../conformance/skips.ts';
import { at, byPath, enter, type PreviewRuntime, PreviewWorld, whyNoPreviews } from './preview-world.ts';
import { open, rawSocket, visit } from './visit.ts';

export interface PreviewSuite {
  readonly runtime: PreviewRuntime;
  /** Of a large body. */
  readonly bytes: number;
}

/** Previews over real sandboxes: everything that a port may be asked for and may answer. */
export function describePreviews({ runtime, bytes }: PreviewSuite): void {
  describe(`previews on ${runtime}`, () => {
    const world = new PreviewWorld(runtime);
    const why = whyNoPreviews(runtime);
    let sandbox: SandboxHandle;
    let share: OpenedPort;

    beforeAll(async () => {
      if (why !== undefined) return;
      await world.start();
      sandbox = await world.sandbox();
      share = await sandbox.ports.open(3000, { visibility: 'public' });
    }, 120_000);
    afterAll(async () => {
      if (why === undefined) await world.close();
    }, 120_000);
    beforeEach((context) => {
      if (why !== undefined) skip(context, why);
    });

    const echo = async (path: string, headers = {}) => {
      const { text } = await visit({ url: at(share, path), headers });
      return JSON.parse(text) as { method: string; url: string; rawHeaders: string[] };
    };

    test('listening ports are listed with what is open of them', async () => {
      const ports = await sandbox.ports.list();
      expect(ports.map(({ port }) => port)).toEqual([3000, 3001]);
      expect(ports[0]).toMatchObject({ share: { visibility: 'public' } });
      expect(ports[1]).toMatchObject({ listening: [{ address: '127.0.0.1', family: 'ipv4' }], share: null });
    });

    test('a wait for a port that nobody opens ends', async () => {
      await expect(sandbox.ports.wait(3999, { timeoutSeconds: 0.2 })).rejects.toMatchObject({
        code: 'request_timeout',
      });
    });

    test('a page is served by name and by path, and the port sees its own paths', async () => {
      expect(await visit({ url: at(share, '/a/b?c=d') })).toMatchObject({ status: 200, text: 'page /a/b' });
      const { text, headers } = await visit({ url: byPath(share, '/echo?c=d') });
      expect(JSON.parse(text)).toMatchObject({ method: 'GET', url: '/echo?c=d' });
      expect(headers['content-security-policy']).toMatch(/^sandbox (?!.*allow-same-origin)/);
      const { headers: folder } = await visit({ url: (share.pathUrl ?? '').replace(/\/$/, '') });
      expect(folder.location).toBe(new URL(share.pathUrl ?? '').pathname);
    });

    test('the port sees the Host that was chosen for it', async () => {
      const seen = async (hostHeader: string) => {
        await sandbox.ports.open(3000, { visibility: 'public', hostHeader });
        const { rawHeaders } = await echo('/echo');
        return rawHeaders[rawHeaders.findIndex((name) => name.toLowerCase() === 'host') + 1];
      };
      expect(await seen('preview')).toBe(new URL(share.url ?? '').host);
      expect(await seen('app.example:8443')).toBe('app.example:8443');
      expect(await seen('port')).toBe('localhost:3000');
    });

    test.each([
      ['GET', '/echo', 200],
      ['HEAD', '/source?bytes=100&length', 200],
      ['POST', '/status?code=204', 204],
      ['GET', '/status?code=304', 304],
      ['DELETE', '/status?code=500', 500],
      ['OPTIONS', '/echo', 200],
    ])('%s %s answers %i', async (method, path, status) => {
      const answer = await visit({ url: at(share, path), method });
      expect(answer.status).toBe(status);
      if (method === 'HEAD') expect(answer).toMatchObject({ text: '', headers: { 'content-length': '100' } });
    });

    test('large bodies pass both ways, whole, with a length or in chunks', async () => {
      const piece = Buffer.alloc(65_536, 'caisson');
      async function* body() {
        for (let left = bytes; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length));
      }
      const whole = createHash('sha256');
      for await (const part of body()) whole.update(part);
      const sha256 = whole.digest('hex');
      for (const headers of [{ 'content-length': bytes }, {}]) {
        const { text } = await visit({ url: at(share, '/sink'), method: 'POST', headers, body: body() });
        expect(JSON.parse(text)).toEqual({ bytes, sha256 });
      }
      for (const query of [`bytes=${bytes}&length`, `bytes=${bytes}`]) {
        const came = createHash('sha256');
        for await (const part of await open({ url: at(share, `/source?${query}`) })) came.update(part as Buffer);
        expect(came.digest('hex')).toBe(sha256);
      }
    }, 120_000);

    test('a client that reads slowly makes the port wait, and gets everything', async () => {
      const response = await open({ url: at(share, '/source?bytes=20000000&length') });
      await new Promise((resolve) => setTimeout(resolve, 300));
      let came = 0;
      for await (const part of response) came += (part as Buffer).length;
      expect(came).toBe(20_000_000);
    });

    test('who asks before sending is told to go on', async () => {
      const { host } = new URL(share.url ?? '');
      const socket = rawSocket(share.url ?? '');
      let said = '';
      socket.on('data', (part) => {
        said += part;
        if (said === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write('hello');
      });
      socket.write(`POST /sink HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`);
      await expect.poll(() => said).toContain('"bytes":5');
      socket.destroy();
    });

    test('an answer before the end of the body reaches the client', async () => {
      const answer = await visit({ url: at(share, '/early'), method: 'POST', body: Buffer.alloc(300_000) });
      expect(answer).toMatchObject({ status: 413, text: 'too much' });
    });

    test('events come as they happen, and the port learns that the client left', async () => {
      const before = Number((await visit({ url: at(share, '/open') })).text);
      const response = await open({ url: at(share, '/events') });
      let said = '';
      response.on('data', (part) => {
        said += part;
      });
      await expect.poll(() => said).toContain('data: 3\n\n');
      response.destroy();
      await expect.poll(async () => Number((await visit({ url: at(share, '/open') })).text)).toBe(before);
    });

    test('the head of a silent stream comes at once', async () => {
      const response = await open({ url: at(share, '/events?silent') });
      expect(response.headers['content-type']).toBe('text/event-stream');
      response.destroy();
    });

    test('WebSockets pass, by name and by path', async () => {
      const { host, port } = new URL(share.url ?? '');
      const { pathname } = new URL(share.pathUrl ?? '');
      for (const [path, headers] of [
        ['/chat', { host }],
        [`${pathname}chat`, {}],
      ] as const) {
        const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
        const said: string[] = [];
        socket.on('message', (data) => said.push(String(data)));
        await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
        for (const word of ['one', 'two']) socket.send(word);
        await expect.poll(() => said).toEqual(['one', 'two']);
        socket.close();
        await new Promise((resolve) => socket.once('close', resolve));
      }
    });

    test('any other protocol passes where the port agrees, and its refusal where it does not', async () => {
      const { host } = new URL(share.url ?? '');
      const offer = (path: string) =>
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\n`;
      const socket = rawSocket(share.url ?? '');
      let said = '';
      socket.on('data', (part) => {
        said += part;
      });
      socket.write(`${offer('/')}early`);
      await expect.poll(() => said).toMatch(/^HTTP\/1.1 101 .*\r\n\r\nEARLY$/s);
      socket.destroy();
      const refused = rawSocket(share.url ?? '');
      let why403 = '';
      refused.on('data', (part) => {
        why403 += part;
      });
      refused.write(offer('/no'));
      await new Promise((resolve) => refused.once('close', resolve));
      expect(why403).toMatch(/^HTTP\/1.1 403 .*\r\n\r\nno$/s);
    });

    test('a connection carries one request after the other', async () => {
      const { host } = new URL(share.url ?? '');
      const socket = rawSocket(share.url ?? '');
      let said = '';
      socket.on('data', (part) => {
        said += part;
      });
      for (const path of ['/1', '/2', '/3']) socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      await expect.poll(() => said.match(/page \/\d/g)).toEqual(['page /1', 'page /2', 'page /3']);
      socket.destroy();
    });

    test('nobody behind an open port is a clear 502, in words and as a problem', async () => {
      const empty = await sandbox.ports.open(3002, { visibility: 'public' });
      const words = `nothing listens on port 3002 in ${sandbox.id}`;
      const page = await visit({ url: at(empty, '/') });
      expect(page).toMatchObject({ status: 502, headers: { 'content-type': 'text/html; charset=utf-8' } });
      expect(page.text).toContain(words);
      const problem = await visit({ url: at(empty, '/'), headers: { accept: 'application/json' } });
      expect(JSON.parse(problem.text)).toMatchObject({ code: 'port_refused', detail: words, status: 502 });
    });

    test('what is not HTTP is a 502 too', async () => {
      const raw = await sandbox.ports.open(3001, { visibility: 'public' });
      const answer = await visit({ url: at(raw, '/'), headers: { accept: 'application/json' } });
      expect(answer.status).toBe(502);
      expect(JSON.parse(answer.text)).toMatchObject({ code: 'port_answer_invalid' });
    });

    test('a private port opens with its token, a link, and the key of who may see it', async () => {
      const other = await world.sandbox();
      const { token = '', ...own } = await other.ports.open(3000);
      const url = at(own, '/echo?a=b');
      expect((await visit({ url })).status).toBe(401);
      expect((await visit({ url, headers: { 'x-caisson-preview-token': token } })).status).toBe(200);
      for (const key of ['ada', 'looker']) {
        expect((await visit({ url, headers: { authorization: `Bearer ${world.keys[key]}` } })).status).toBe(200);
        expect((await visit({ url, headers: { 'x-api-key': world.keys[key] } })).status).toBe(200);
      }
      expect((await visit({ url, headers: { 'x-api-key': world.keys.stranger } })).status).toBe(401);
      const link = await other.ports.link(3000, { expiresInSeconds: 60 });
      for (const way of [link.url, link.pathUrl, `${own.url}?caisson-token=${token}`]) {
        const { cookie, location, first } = await enter(way ?? '');
        expect(first.status).toBe(303);
        expect(first.headers['set-cookie']?.[0]).toMatch(/; HttpOnly; SameSite=Lax$/);
        expect(location).not.toContain('caisson-');
        expect((await visit({ url: location, headers: { cookie } })).status).toBe(200);
      }
      // Its token is told once; it stays until somebody wants another.
      expect(await other.ports.open(3000)).not.toHaveProperty('token');
      expect((await visit({ url, headers: { 'x-caisson-preview-token': token } })).status).toBe(200);
      await other.destroy();
    });

    test('one connection to a port: each direction ends on its own', async () => {
      const connection = await sandbox.ports.connect(3001);
      await connection.write(Buffer.from('hello'));
      connection.end();
      let said = '';
      for await (const part of connection) said += Buffer.from(part).toString();
      expect(said).toBe('hello|5');
      await expect(sandbox.ports.connect(3999)).rejects.toMatchObject({ code: 'port_refused' });
    });

    test('one connection to a port carries megabytes both ways at once without standing still', async () => {
      const connection = await sandbox.ports.connect(3001);
      const size = 8_000_000;
      const sent = (async () => {
        for (let left = size; left > 0; left -= 100_000) await connection.write(Buffer.alloc(100_000, 'x'));
        connection.end();
      })();
      let came = 0;
      for await (const part of connection) came += part.byteLength;
      await sent;
      expect(came).toBe(size + `|${size}`.length);
    });

    test('a request resumes a paused sandbox, unless its policy says otherwise', async () => {
      const willing = await world.sandbox();
      const unwilling = await world.sandbox({ autoResume: false });
      const first = await willing.ports.open(3000, { visibility: 'public' });
      const second = await unwilling.ports.open(3000, { visibility: 'public' });
      for (const one of [willing, unwilling]) await one.pause();
      expect(await visit({ url: at(first, '/') })).toMatchObject({ status: 200, text: 'page /' });
      const refused = await visit({ url: at(second, '/'), headers: { accept: 'application/json' } });
      expect(refused.status).toBe(503);
      expect(JSON.parse(refused.text)).toMatchObject({ code: 'sandbox_paused' });
      expect((await unwilling.refresh()).state).toBe('paused');
      // To look at its ports is no use.
      expect((await unwilling.ports.list())[0]).toMatchObject({ port: 3000, listening: null });
      await Promise.all([willing.destroy(), unwilling.destroy()]);
    });

    test('what is open stays open across recreate and a restart of the server', async () => {
      const kept = await world.sandbox();
      await kept.ports.open(3000);
      const link = await kept.ports.link(3000);
      const { cookie, location } = await enter(link.url ?? '');
      await kept.recreate();
      await world.listen(kept);
      expect((await visit({ url: location, headers: { cookie } })).status).toBe(200);
      await world.restart();
      expect((await visit({ url: location, headers: { cookie } })).status).toBe(200);
      expect((await enter(link.url ?? '')).first.status).toBe(303);
      await kept.destroy();
    }, 120_000);
  });
}
