import { hostname, networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { spellingsOf } from '../../packages/server/testing/address-spellings.ts';
import { socks, socksReply } from './attack-bytes.ts';
import { tell } from './attack-world.ts';
import type { Stage } from './describe-network-attacks.ts';

const bracketed = (host: string) => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host);
const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** By a name or an address that means something else than it looks like. */
export function attackByNames({ world, sandbox }: Stage): void {
  /** Every way to ask for a host; gives those that were let through. */
  const letThrough = async (
    hosts: readonly string[],
    port: number,
    open: Awaited<ReturnType<typeof world.sandbox>>,
  ) => {
    const passed: string[] = [];
    const ask = async (host: string) => {
      const place = utf8(`${bracketed(host)}:${port}`);
      const [plain, tunnel, carried] = await Promise.all([
        tell(open, `GET http://${place}/ HTTP/1.1\r\nHost: ${place}\r\nConnection: close\r\n\r\n`),
        tell(open, `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n`),
        tell(open, socks(host, port), 'socks'),
      ]);
      for (const said of [plain, tunnel]) if (!/^HTTP\/1.1 [45]\d\d /.test(said)) passed.push(`${host}: ${said}`);
      if (socksReply(carried) === 0) passed.push(`${host} over SOCKS`);
    };
    for (let at = 0; at < hosts.length; at += 8) await Promise.all(hosts.slice(at, at + 8).map(ask));
    return passed;
  };

  test('metadata addresses are refused in every spelling and by every way in', { timeout: 120_000 }, async () => {
    const open = await world.sandbox({ mode: 'open', allow: [] });
    const more = ['fd00:ec2::254', 'fe80::a9fe:a9fe', '100.100.100.200', '168.63.129.16', 'metadata.test'];
    world.names.set('metadata.test', () => ['169.254.169.254']);
    expect(await letThrough([...spellingsOf([169, 254, 169, 254]), ...more], 80, open)).toEqual([]);
    const known = (await world.journal(open)).filter(({ verdict }) => verdict === 'allowed');
    expect(known).toEqual([]);
    await open.destroy();
  });

  test("the server's own API is refused in every spelling of this machine", { timeout: 120_000 }, async () => {
    const open = await world.sandbox({ mode: 'open', allow: [] });
    const port = Number(new URL(world.url).port);
    const own = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
    world.names.set('own.test', () => ['127.0.0.1']);
    world.names.set(hostname().toLowerCase(), () => own);
    const names = ['localhost', 'LOCALHOST.', 'a.localhost', '0.0.0.0', '0', '127.1', '[::1]', '::', 'own.test'];
    const hosts = [...names, hostname(), ...own, ...spellingsOf([127, 0, 0, 1])];
    expect(await letThrough(hosts, port, open)).toEqual([]);
    expect((await world.journal(open)).filter(({ verdict }) => verdict === 'allowed')).toEqual([]);
    await open.destroy();
  });

  test('what a refused name says is told to no resolver, however long or odd it is', async () => {
    const label = 'x'.repeat(63);
    const names = [
      `${label}.${label}.${label}.evil.test`,
      `${'y'.repeat(64)}.evil.test`,
      '_txt.evil.test',
      'ok.test.evil.test',
      'ok.test\0.evil.test',
      'évil.test',
      'notok.test',
    ];
    expect(await letThrough(names, world.outside.port, sandbox())).toEqual([]);
    expect(world.asked).toEqual([]);
  });

  test('SOCKS carries connections alone: no datagrams, no listening, no lookups', async () => {
    for (const command of [2, 3, 0xf0, 0xf1])
      expect(socksReply(await tell(sandbox(), socks('ok.test', 53, command), 'socks'))).toBe(7);
    expect(world.asked).toEqual([]);
  });

  test('of a name with public and private addresses the private ones are not dialled', async () => {
    world.names.set('ok.test', () => ['10.255.255.1', '169.254.169.254', '127.0.0.1']);
    try {
      const one = await world.sandbox();
      expect((await world.fetch(one, `http://${world.ok}/`)).status).toBe(200);
      expect(world.asked).toEqual(['ok.test']);
      expect((await world.journal(one)).map(({ address }) => address)).toEqual(['127.0.0.1']);
      await one.destroy();
    } finally {
      world.names.set('ok.test', () => ['127.0.0.1']);
    }
  });

  test('a name that turns to a private address after it was let through is refused then', {
    timeout: 120_000,
  }, async () => {
    const one = await world.sandbox({ allow: ['rebind.test'] });
    let lookups = 0;
    world.names.set('rebind.test', () => {
      lookups += 1;
      return [lookups === 1 ? '127.0.0.1' : '127.0.0.2'];
    });
    const url = `http://rebind.test:${world.outside.port}/`;
    expect((await world.fetch(one, url)).status).toBe(200);
    // Decided and dialled by the same answer: there is no second lookup in between.
    expect(lookups).toBe(1);
    await expect
      .poll(async () => (await world.fetch(one, url)).text, { timeout: 30_000, interval: 500 })
      .toMatch(/private_address/);
    expect(lookups).toBe(2);
    await one.destroy();
  });

  test('a redirect to a private address is refused, and one to a name that is not allowed too', async () => {
    const { outside } = world;
    const usual = outside.answer;
    try {
      for (const [to, why] of [
        ['http://169.254.169.254/', 'not_allowed'],
        [`${world.url}/v1/sandboxes`, 'private_address'],
      ] as const) {
        outside.answer = `HTTP/1.1 302 Found\r\nLocation: ${to}\r\nContent-Length: 0\r\n\r\n`;
        const one = why === 'private_address' ? await world.sandbox({ mode: 'open', allow: [] }) : sandbox();
        // Not by loopback itself, which programs inside do not ask the proxy for.
        const { text } = await world.fetch(one, `--noproxy '' http://${world.ok}/`);
        expect(text).toMatch(
          new RegExp(
            `was refused by Caisson: .*\\(${why === 'not_allowed' ? '(not_allowed|private_address)' : why}\\)`,
          ),
        );
        if (one !== sandbox()) await one.destroy();
      }
    } finally {
      outside.answer = usual;
    }
  });
}
