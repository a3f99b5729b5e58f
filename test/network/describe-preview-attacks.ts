import { newId } from '@caisson/contract';
import type { OpenedPort, SandboxHandle } from '@caisson/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { skip } from '../conformance/skips.ts';
import { at, byPath, enter, type PreviewRuntime, PreviewWorld, shapeOf, whyNoPreviews } from './preview-world.ts';
import { open, rawSocket, sendRaw, visit } from './visit.ts';

/** Attacks on previews: by strangers, by neighbours, by what runs in a sandbox, and by pages of it in a browser. */
export function describePreviewAttacks(runtime: PreviewRuntime): void {
  describe(`attacks on previews on ${runtime}`, () => {
    const world = new PreviewWorld(runtime);
    const why = whyNoPreviews(runtime);
    let ours: SandboxHandle;
    let theirs: SandboxHandle;
    let mine: OpenedPort;
    let other: OpenedPort;
    let address = 0;

    beforeAll(async () => {
      if (why !== undefined) return;
      // Each test comes from an address of its own, as a proxy in front would tell it.
      await world.start(['--preview-proxy', '127.0.0.1']);
      [ours, theirs] = await Promise.all([world.sandbox(), world.sandbox()]);
      mine = await ours.ports.open(3000);
      other = await theirs.ports.open(3000);
    }, 120_000);
    afterAll(async () => {
      if (why === undefined) await world.close();
    }, 120_000);
    beforeEach((context) => {
      if (why !== undefined) skip(context, why);
      address += 1;
    });

    const from = (headers: Record<string, string> = {}) => ({ 'x-forwarded-for': `198.51.100.${address}`, ...headers });
    const token = (share: OpenedPort) => ({ 'x-caisson-preview-token': share.token ?? '' });
    const echo = async (url: string, headers: Record<string, string>) => {
      const { text } = await visit({ url, headers: from(headers) });
      const { rawHeaders } = JSON.parse(text) as { rawHeaders: string[] };
      return rawHeaders.join('\n');
    };

    test('a stranger cannot tell a wrong token from a closed port, another tenant or a sandbox that is not there', async () => {
      const expired = await ours.ports.link(3000, { expiresInSeconds: 1 });
      const nobody = newId('sandbox');
      const unknown = { url: (mine.url ?? '').replace(ours.id, nobody) };
      const pass = new URL(expired.url ?? '').search;
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      const plain = await shapeOf({ url: at(mine, '/echo'), headers: from() });
      expect(plain.status).toBe(401);
      const guesses = [
        { url: at(unknown, '/echo') },
        { url: at(mine, '/echo').replace('3000-', '3003-') },
        { url: at(mine, '/echo'), headers: { 'x-caisson-preview-token': 'wrong' } },
        { url: at(mine, '/echo?caisson-token=wrong') },
        { url: at(mine, `/echo${pass}`) },
        { url: at(mine, '/echo'), headers: { cookie: 'caisson-preview=1.zzzzzz.AAAA' } },
        { url: at(mine, '/echo'), headers: { 'x-api-key': world.keys.stranger ?? '' } },
        { url: at(mine, '/echo'), headers: { authorization: 'Bearer csn_nobody' } },
        { url: byPath(mine, '/echo') },
        { url: byPath(mine, '/echo').replace(ours.id, nobody) },
      ];
      for (const guess of guesses) {
        expect(await shapeOf({ ...guess, headers: from(guess.headers ?? {}) })).toEqual(plain);
      }
    });

    test('nothing of one sandbox opens another: not its token, not its link, not its cookie', async () => {
      const link = new URL((await ours.ports.link(3000)).url ?? '').search;
      const { cookie } = await enter(at(mine, `/${link}`));
      const url = at(other, '/echo');
      expect((await visit({ url: at(mine, '/echo'), headers: from({ cookie }) })).status).toBe(200);
      expect((await visit({ url, headers: from(token(mine)) })).status).toBe(401);
      expect((await visit({ url: at(other, `/echo${link}`), headers: from() })).status).toBe(401);
      expect((await visit({ url, headers: from({ cookie }) })).status).toBe(401);
      expect((await visit({ url: byPath(other, '/echo'), headers: from({ cookie }) })).status).toBe(401);
      // Nor another port of the same one.
      await ours.ports.open(3001);
      const next = at(mine, `/echo${link}`).replace('3000-', '3001-');
      expect((await visit({ url: next, headers: from() })).status).toBe(401);
    });

    test('the cookie of a port counts for nothing that a page of a neighbour asks for', async () => {
      const { cookie } = await enter((await ours.ports.link(3000)).url ?? '');
      const status = async (headers: Record<string, string>) =>
        (await visit({ url: at(mine, '/'), headers: from({ cookie, ...headers }) })).status;
      expect(await status({ origin: new URL(mine.url ?? '').origin })).toBe(200);
      expect(await status({ origin: new URL(other.url ?? '').origin })).toBe(401);
      expect(await status({ 'sec-fetch-site': 'same-site', referer: other.url ?? '' })).toBe(401);
      const { host, port } = new URL(mine.url ?? '');
      const headers = { host, cookie, origin: new URL(other.url ?? '').origin };
      const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`, { headers });
      expect(await new Promise((resolve) => socket.once('error', (error) => resolve(error.message)))).toContain('401');
    });

    test('what came with a key ends with the key', async () => {
      const key = await world.makeKey('short');
      const { url = '' } = mine;
      const events = await open({ url: at({ url }, '/events'), headers: from({ 'x-api-key': key.secret }) });
      events.on('error', () => {});
      events.resume();
      const cut = new Promise((resolve) => events.once('close', resolve));
      await world.revoke(key.id);
      await cut;
      expect((await visit({ url: at(mine, '/'), headers: from({ 'x-api-key': key.secret }) })).status).toBe(401);
    });

    test('cookies of a sandbox, of its neighbours and of the host stay apart in the path form', async () => {
      const set = await visit({
        url: byPath(mine, '/set?c=sid=secret;Path=/;Domain=localhost'),
        headers: from(token(mine)),
      });
      const [cookie = ''] = set.headers['set-cookie'] ?? [];
      expect(cookie).not.toMatch(/domain/i);
      expect(cookie).toContain(`Path=/preview/${ours.id}/3000/`);
      const jar = `${cookie.split(';')[0]}; jupyter=host-secret`;
      expect(await echo(byPath(mine, '/echo'), { ...token(mine), cookie: jar })).toContain('sid=secret');
      expect(await echo(byPath(mine, '/echo'), { ...token(mine), cookie: jar })).not.toContain('host-secret');
      expect(await echo(byPath(other, '/echo'), { ...token(other), cookie: jar })).not.toContain('secret');
    });

    test('a port can neither set nor see the cookie of the platform', async () => {
      const set = await visit({ url: at(mine, '/set?c=caisson-preview=x&c=a=b'), headers: from(token(mine)) });
      expect(set.headers['set-cookie']).toEqual(['a=b']);
      const { cookie } = await enter((await ours.ports.link(3000)).url ?? '');
      const seen = await echo(at(mine, '/echo'), { cookie: `${cookie}; a=b` });
      expect(seen).toContain('a=b');
      expect(seen).not.toContain('caisson-preview');
    });

    test('no key and no token of the platform reaches the port, and what a client says of itself does not either', async () => {
      const key = world.keys.ada ?? '';
      const seen = await echo(at(mine, '/echo'), {
        ...token(mine),
        authorization: `Bearer ${key}`,
        'x-api-key': key,
        'x-forwarded-host': 'evil.example',
        'x-real-ip': '10.0.0.1',
        'proxy-authorization': 'secret',
      });
      for (const secret of [key, mine.token ?? '', 'evil.example', '10.0.0.1', 'secret'])
        expect(seen).not.toContain(secret);
      expect(seen).toContain(`198.51.100.${address}`);
      const { text } = await visit({
        url: at(mine, `/echo?caisson-token=${mine.token}&a=b`),
        method: 'POST',
        headers: from(),
      });
      expect(text).toContain('"/echo?a=b"');
      const own = await echo(at(mine, '/echo'), { ...token(mine), authorization: 'Bearer of-the-app' });
      expect(own).toContain('Bearer of-the-app');
    });

    test('the name of a preview never leads to the API', async () => {
      const key = { 'x-api-key': world.keys.ada ?? '' };
      const answer = await visit({ url: at(mine, '/v1/sandboxes'), headers: from(key) });
      expect(answer.text).toBe('page /v1/sandboxes');
      expect((await visit({ url: at(mine, '/healthz'), headers: from() })).status).toBe(401);
    });

    test('a page of a preview cannot call the API', async () => {
      const api = world.world.server.url;
      const key = { 'x-api-key': world.keys.ada ?? '' };
      for (const origin of [new URL(mine.url ?? '').origin, 'null']) {
        const headers = { ...key, origin };
        expect((await visit({ url: `${api}/v1/sandboxes`, headers })).status).toBe(421);
        const body = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: '{}' };
        expect((await visit({ url: `${api}/v1/sandboxes`, ...body })).status).toBe(421);
        const socket = new WebSocket(`${api.replace('http', 'ws')}/v1/sandboxes/${ours.id}/ports/3000/connect`, {
          headers,
        });
        const refused = await new Promise((resolve) => socket.once('error', (error) => resolve(error.message)));
        expect(refused).toContain('421');
      }
      // A name that somebody points at this machine is no way to the path form either.
      const { port } = new URL(api);
      const rebound = await visit({ url: byPath(mine, '/'), headers: from({ host: `evil.example:${port}` }) });
      expect(rebound.status).toBe(421);
    });

    test('a link, a token and a cookie end with the port: after a close, a rotation, and a destroy', async () => {
      const victim = await world.sandbox();
      const first = await victim.ports.open(3000);
      const link = (await victim.ports.link(3000)).url ?? '';
      const { cookie } = await enter(link);
      const replay = async () => [
        (await visit({ url: link, headers: from() })).status,
        (await visit({ url: at(first, '/'), headers: from({ cookie }) })).status,
        (await visit({ url: at(first, '/'), headers: from(token(first)) })).status,
      ];
      expect(await replay()).toEqual([303, 200, 200]);
      const rotated = await victim.ports.open(3000, { rotate: true });
      expect(await replay()).toEqual([401, 401, 401]);
      expect((await visit({ url: at(first, '/'), headers: from(token(rotated)) })).status).toBe(200);
      const again = (await victim.ports.link(3000)).url ?? '';
      await victim.ports.close(3000);
      expect((await visit({ url: again, headers: from() })).status).toBe(401);
      await victim.ports.open(3000);
      expect((await visit({ url: again, headers: from() })).status).toBe(401);
      const last = (await victim.ports.link(3000)).url ?? '';
      await victim.destroy();
      expect((await visit({ url: last, headers: from() })).status).toBe(401);
      await expect(victim.ports.link(3000)).rejects.toMatchObject({ code: 'port_not_open' });
    });

    test('what is open is cut when its port is closed', async () => {
      const share = await theirs.ports.open(3000, { rotate: true });
      const events = await open({ url: at(share, '/events'), headers: from(token(share)) });
      const { host, port } = new URL(share.url ?? '');
      const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`, { headers: { host, ...token(share) } });
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      const cut = Promise.all([
        new Promise((resolve) => events.once('close', resolve)),
        new Promise((resolve) => socket.once('close', resolve)),
      ]);
      events.on('error', () => {});
      events.resume();
      await theirs.ports.close(3000);
      await cut;
      other = await theirs.ports.open(3000);
    });

    test('a request cannot hide another one', async () => {
      const { host } = new URL(mine.url ?? '');
      const start = `POST /sink HTTP/1.1\r\nHost: ${host}\r\nX-Caisson-Preview-Token: ${mine.token}\r\n`;
      const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n';
      const bad = [
        `${start}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
        `${start}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
        `${start}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde${hidden}`,
        `${start}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${hidden}`,
        `${start}X: a\rContent-Length: 3\r\n\r\n${hidden}`,
      ];
      for (const text of bad) {
        const said = await sendRaw(mine.url ?? '', text);
        expect(said).toMatch(/^HTTP\/1.1 400 /);
        expect(said).not.toContain('page /hidden');
      }
    });

    test('what a port sends too much reaches nobody else', async () => {
      const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
      const planted = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
      const hex = Buffer.from(answer + planted).toString('hex');
      expect(await visit({ url: at(mine, `/raw?hex=${hex}`), headers: from(token(mine)) })).toMatchObject({
        text: 'ok',
      });
      for (let n = 0; n < 5; n += 1) {
        expect((await visit({ url: at(mine, '/next'), headers: from(token(mine)) })).text).toBe('page /next');
      }
    });

    test.each([
      ['a line break in a field', 'HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: caisson-preview=x\r\n\r\n'],
      ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok'],
      ['no head at all', '\0\0\0\0\r\n\r\n'],
    ])('an answer with %s is a 502', async (_, answer) => {
      const hex = Buffer.from(answer, 'latin1').toString('hex');
      const { status, headers } = await visit({ url: at(mine, `/raw?hex=${hex}`), headers: from(token(mine)) });
      expect(status).toBe(502);
      expect(headers['set-cookie']).toBeUndefined();
    });

    test('a redirect of the port leads nowhere else than it says, and by path back to itself', async () => {
      const go = async (url: string) => (await visit({ url, headers: from(token(mine)) })).headers.location;
      expect(await go(at(mine, '/go?to=http://localhost:3000/x'))).toBe('/x');
      expect(await go(byPath(mine, '/go?to=/x'))).toBe(`/preview/${ours.id}/3000/x`);
    });

    test('the target of a request is a path, or refused', async () => {
      const { host } = new URL(mine.url ?? '');
      const said = await sendRaw(
        mine.url ?? '',
        `GET http://other.example/ HTTP/1.1\r\nHost: ${host}\r\nX-Caisson-Preview-Token: ${mine.token}\r\nConnection: close\r\n\r\n`,
      );
      expect(said).toMatch(/^HTTP\/1.1 400 /);
    });

    test('who guesses is not listened to for a while, and nobody else is kept out', async () => {
      const guess = async (n: number) =>
        (await visit({ url: at(mine, '/'), headers: from({ 'x-caisson-preview-token': `guess-${n}` }) })).status;
      const statuses: number[] = [];
      for (let n = 0; n < 80; n += 1) statuses.push(await guess(n));
      expect(statuses.slice(0, 50).every((status) => status === 401)).toBe(true);
      expect(statuses.at(-1)).toBe(429);
      expect((await visit({ url: at(mine, '/'), headers: from(token(mine)) })).status).toBe(429);
      address += 1;
      expect((await visit({ url: at(mine, '/'), headers: from(token(mine)) })).status).toBe(200);
    });

    test('a client that never finishes its head holds nobody up', async () => {
      const { host } = new URL(mine.url ?? '');
      const slow = Array.from({ length: 200 }, () => {
        const socket = rawSocket(mine.url ?? '');
        socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nX-A`);
        return socket;
      });
      expect((await visit({ url: at(mine, '/'), headers: from(token(mine)) })).status).toBe(200);
      for (const socket of slow) socket.destroy();
    });
  });
}
