import { expect, test } from 'vitest';
import { encryptedHello, helloFor } from './attack-bytes.ts';
import { tell } from './attack-world.ts';
import type { Stage } from './describe-network-attacks.ts';

/** By requests and handshakes that say one thing to us and another to a server. */
export function attackByRequests({ world, sandbox }: Stage): void {
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: bad.test\r\n\r\n';
  const inTunnel = (bytes: Buffer, host = world.ok) =>
    tell(sandbox(), Buffer.concat([Buffer.from(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`), bytes]));

  test.each([
    ['CL.TE', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['TE.CL', 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n'],
    ['TE.TE', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n'],
    ['TE with a tab', 'Transfer-Encoding:\tchunked, identity\r\n\r\n0\r\n\r\n'],
    ['TE of HTTP/1.0', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n', '1.0'],
    ['CL.CL', 'Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd'],
    ['CL as a list', 'Content-Length: 4, 4\r\n\r\nabcd'],
    ['CL in hexadecimal', 'Content-Length: 0x4\r\n\r\nabcd'],
    ['a bare CR', 'X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a bare LF', 'X: a\nHost: bad.test\n\n'],
    ['a folded line', 'X: a\r\n Transfer-Encoding: chunked\r\n\r\n'],
    ['a folded Host', 'Host:\r\n bad.test\r\n\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
    ['a NUL', 'X: a\0\r\nContent-Length: 4\r\n\r\nabcd'],
    ['a line break in a chunk extension', 'Transfer-Encoding: chunked\r\n\r\n1;a=\nb\r\nx\r\n0\r\n\r\n'],
    ['a chunk that is longer than it says', 'Transfer-Encoding: chunked\r\n\r\n1\r\nxGET\r\n0\r\n\r\n'],
    ['a chunk of a size that overflows', 'Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n'],
  ])('a request cannot hide another one by %s', async (_, rest, version = '1.1') => {
    const head = `POST http://${world.ok}/shown HTTP/${version}\r\n`;
    const host = /^host/i.test(rest) ? '' : `Host: ${world.ok}\r\n`;
    const said = await tell(sandbox(), `${head}${host}${rest}${hidden}`);
    expect(said).not.toMatch(/ 200 /);
    expect(world.outside.heard).not.toMatch(/hidden|bad\.test/);
  });

  test('a request behind a body is a request of its own, and decided as one', async () => {
    const first = `POST http://${world.ok}/shown HTTP/1.1\r\nHost: ${world.ok}\r\nContent-Length: 4\r\n\r\nabcd`;
    const said = await tell(sandbox(), `${first}GET http://bad.test/hidden HTTP/1.1\r\nHost: bad.test\r\n\r\n`);
    expect(said).toMatch(/^HTTP\/1.1 200 .*HTTP\/1.1 403 .*why=not_allowed/s);
    expect(world.outside.heard).not.toMatch(/hidden|bad\.test/);
  });

  test.each([
    ['an address and another Host', `GET http://OK/ HTTP/1.1\r\nHost: bad.test\r\n\r\n`],
    ['two Hosts', `GET http://OK/ HTTP/1.1\r\nHost: OK\r\nHost: bad.test\r\n\r\n`],
    ['a name before an @', `GET http://OK@bad.test/ HTTP/1.1\r\nHost: bad.test\r\n\r\n`],
    ['a name behind a backslash', `GET http://bad.test\\@OK/ HTTP/1.1\r\nHost: OK\r\n\r\n`],
    ['a path alone', `GET /hidden HTTP/1.1\r\nHost: OK\r\n\r\n`],
    ['CONNECT and another Host', `CONNECT OK HTTP/1.1\r\nHost: bad.test:443\r\n\r\n`],
    ['CONNECT to two', `CONNECT OK bad.test:443 HTTP/1.1\r\n\r\n`],
    ['another scheme', `GET file:///etc/passwd HTTP/1.1\r\nHost: OK\r\n\r\n`],
  ])('%s: what a request is for is said once, or refused', async (_, text) => {
    const said = await tell(sandbox(), text.replaceAll('OK', world.ok));
    expect(said).toMatch(/^HTTP\/1.1 (?:4\d\d|501) /);
    expect(world.outside.heard).toBe('');
  });

  test.each([
    ['a name that is not the one of the tunnel', () => helloFor('bad.test')],
    ['no name', () => helloFor(undefined)],
    ['an encrypted hello behind the right name (ECH)', () => helloFor('ok.test', encryptedHello)],
    ['two names', () => helloFor('ok.test', [0, Buffer.from('\0\x0b\0\0\x08bad.test', 'latin1')])],
    ['an alert before it', () => Buffer.concat([Buffer.from('1503010002015a', 'hex'), helloFor('bad.test')])],
    ['the form of SSL 2, which names nobody', () => Buffer.from(`802e010303${'00'.repeat(43)}`, 'hex')],
    ['a hello in many records, for another name', () => inRecords(helloFor('bad.test'))],
  ])('a handshake with %s goes nowhere', async (_, hello) => {
    expect(await inTunnel(hello())).toBe('HTTP/1.1 200 Connection established\r\n\r\n');
    expect(world.outside.heard).toBe('');
    const [last] = (await world.journal(sandbox())).slice(-1);
    expect(last).toMatchObject({ verdict: 'refused', why: expect.stringMatching(/^sni_(mismatch|hidden)$/) });
  });

  test('a handshake for the name of the tunnel passes byte for byte', async () => {
    const hello = inRecords(helloFor('ok.test'));
    const connection = inTunnel(hello);
    await expect.poll(() => world.outside.heard).toBe(hello.toString('latin1'));
    for (const socket of world.outside.open) socket.destroy();
    await connection;
  });

  test.each([
    ['plain', 'GET /hidden HTTP/1.1\r\nHost: bad.test\r\n\r\n'],
    ['behind empty lines', '\r\n\r\n\nGET /hidden HTTP/1.1\r\nHost: bad.test\r\n\r\n'],
    ['behind white space', ' \v\fGET /hidden HTTP/1.1\r\nHost: bad.test\r\n\r\n'],
    ['as HTTP/2 without TLS', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    [
      'behind a first one that is right',
      'HEAD / HTTP/1.1\r\nHost: OK\r\n\r\nGET /hidden HTTP/1.1\r\nHost: bad.test\r\n\r\n',
    ],
  ])('a request for another host inside a tunnel, %s, is not passed on', async (_, text) => {
    await inTunnel(Buffer.from(text.replaceAll('OK', world.ok), 'latin1'));
    expect(world.outside.heard).not.toMatch(/hidden|bad\.test|PRI/);
  });

  test('a hello of one byte in each record holds up neither the server nor another client', async () => {
    const endless = Buffer.from([1, 0, 0xff, 0xf0, ...Array(9_000).fill(0)].flatMap((byte) => [22, 3, 1, 0, 1, byte]));
    const connections = [1, 2, 3].map(() => inTunnel(endless));
    expect((await world.fetch(sandbox(), `http://${world.ok}/`)).status).toBe(200);
    await Promise.all(connections);
  });

  test('a secret can bring no line of its own into a request', async () => {
    const client = world.client();
    const good = { value: 'value', domains: ['ok.test'], header: { name: 'X-Key', format: '{}' } };
    const injected = 'a\r\nHost: bad.test';
    const bad = [
      { ...good, value: injected },
      { ...good, value: 'a\nb' },
      { ...good, header: { name: 'X-Key', format: `{}${injected}` } },
      { ...good, header: { name: `X-Key: ${injected}` } },
      { ...good, header: { name: 'Host' } },
      { ...good, header: { name: 'Transfer-Encoding' } },
      { ...good, header: undefined, placeholder: `PLACEHOLDER-${injected}` },
    ];
    for (const secret of bad)
      await expect(client.secrets.set('attack', secret as never)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await client.secrets.list()).toEqual([]);
  });
}

/** The same handshake, one byte of it in each record. */
function inRecords(hello: Buffer): Buffer {
  return Buffer.from([...hello.subarray(5)].flatMap((byte) => [22, 3, 1, 0, 1, byte]));
}
