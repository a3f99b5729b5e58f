import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pathForPort, queryValue, type RequestFacts, requestHead } from './request-head.ts';

const sandbox = 'sbx0000000000000000000a' as const;
const facts: RequestFacts = {
  method: 'GET',
  path: '/',
  rawHeaders: [],
  target: { sandbox, port: 3000, prefix: '', domain: undefined },
  host: 'localhost:3000',
  remoteAddress: '192.0.2.1',
  scheme: 'http',
  outsideHost: `3000-${sandbox}.localhost:7300`,
  body: 'none',
};

function fieldsOf(head: string): [string, string][] {
  const [, ...lines] = head.split('\r\n');
  return lines.filter(Boolean).map((line) => {
    const at = line.indexOf(':');
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
  });
}

const ours = fc.constantFrom(
  'X-API-Key',
  'x_api_key',
  'X-Caisson-Preview-Token',
  'x-caisson-anything',
  'X_Caisson_Token',
  'Proxy-Authorization',
  'Proxy-Connection',
  'X-Forwarded-For',
  'X_Forwarded_For',
  'X-Forwarded-Host',
  'Forwarded',
  'X-Real-IP',
  'Keep-Alive',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Content-Length',
  'Upgrade',
  'Host',
  'Expect',
  'HTTP2-Settings',
);
const fieldName = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,15}$/);
const fieldValue = fc.string({ maxLength: 30 });
const fields = fc.array(fc.oneof(fc.tuple(ours, fc.constant('csn_secret')), fc.tuple(fieldName, fieldValue)), {
  maxLength: 12,
});

test('whatever comes, nothing of the platform passes, and there is one head', () => {
  fc.assert(
    fc.property(fields, (given) => {
      const head = requestHead({ ...facts, rawHeaders: given.flat() });
      expect(head.endsWith('\r\n\r\n')).toBe(true);
      expect(head.indexOf('\r\n\r\n')).toBe(head.length - 4);
      expect(head).not.toContain('csn_secret');
      const found = fieldsOf(head);
      expect(found.filter(([name]) => name === 'host')).toEqual([['host', 'localhost:3000']]);
      expect(found.filter(([name]) => name === 'x-forwarded-for')).toEqual([['x-forwarded-for', '192.0.2.1']]);
      for (const [name] of found) {
        expect(name).not.toMatch(/^(x-api-key|x-caisson-.*|proxy-.*|transfer-encoding|content-length|upgrade|te)$/);
      }
    }),
  );
});

test.each([
  ['Bearer csn_00', false],
  ['bearer  csn_00', false],
  [`Basic ${Buffer.from('user:csn_00').toString('base64')}`, false],
  ['Bearer of-the-app', true],
  [`Basic ${Buffer.from('user:pass').toString('base64')}`, true],
])('an Authorization of %j passes: %s', (value, passes) => {
  const head = requestHead({ ...facts, rawHeaders: ['Authorization', value] });
  expect(head.toLowerCase().includes('authorization:')).toBe(passes);
});

test('fields that belong to the connection go no further', () => {
  const rawHeaders = ['Connection', 'close, X-Hop', 'X-Hop', '1', 'X-Stays', '2'];
  const found = Object.fromEntries(fieldsOf(requestHead({ ...facts, rawHeaders })));
  expect(found).not.toHaveProperty('x-hop');
  expect(found).not.toHaveProperty('connection');
  expect(found).toHaveProperty('x-stays', '2');
});

test('a key that a browser offers as a protocol is taken out of the offer', () => {
  const rawHeaders = ['Sec-WebSocket-Protocol', 'chat, caisson-key.csn_00'];
  const found = Object.fromEntries(fieldsOf(requestHead({ ...facts, rawHeaders, upgrade: 'websocket' })));
  expect(found).toMatchObject({ 'sec-websocket-protocol': 'chat', upgrade: 'websocket', connection: 'upgrade' });
});

test.each([
  ['/a?caisson-token=x', '/a'],
  ['/a?b=1&caisson-link=x&c=2', '/a?b=1&c=2'],
  ['/a?Caisson-Token=x&%63aisson-link=y', '/a'],
  ['/a?b=caisson-token', '/a?b=caisson-token'],
  ['/a?%=1', '/a?%=1'],
  ['*', '*'],
  ['http://other/a', null],
  ['/a b', null],
  ['', null],
])('the target %j is for the port %j', (url, path) => {
  expect(pathForPort(url, '')).toBe(path);
});

test('by path the prefix is not for the port', () => {
  expect(pathForPort('/preview/x/1/a?b', '/preview/x/1')).toBe('/a?b');
  expect(pathForPort('/preview/x/1', '/preview/x/1')).toBe('/');
});

test('no spelling of our parameters is left in a query', () => {
  const spelled = fc.constantFrom('caisson-token', 'CAISSON-link', '%63aisson-token', 'caisson%2Dlink', 'caisson-x');
  const other = fc.stringMatching(/^[a-b]{1,3}(=[a-z]{0,3})?$/);
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          spelled.map((name) => `${name}=s`),
          other,
        ),
        { maxLength: 8 },
      ),
      (parts) => {
        const path = pathForPort(`/?${parts.join('&')}`, '') ?? '';
        expect(decodeURIComponent(path).toLowerCase()).not.toContain('caisson-');
      },
    ),
  );
});

test('the value of a parameter is read once, decoded and bounded', () => {
  expect(queryValue('/?caisson-token=a%20b&caisson-token=c', 'caisson-token')).toBe('a b');
  expect(queryValue('/?x=1', 'caisson-token')).toBeUndefined();
  expect(queryValue(`/?caisson-token=${'x'.repeat(999)}`, 'caisson-token')).toHaveLength(200);
  expect(queryValue('/?caisson-token=%E0%A4%A', 'caisson-token')).toBe('%E0%A4%A');
});
