import { expect, test } from 'vitest';
import { locationFromPort, responseFields } from './response-head.ts';

const sandbox = 'sbx0000000000000000000a' as const;
const named = { sandbox, port: 3000, prefix: '', domain: undefined };
const byPath = { ...named, prefix: `/preview/${sandbox}/3000` };
const host = 'localhost:3000';

const fieldsOf = (target: typeof named, fields: string[]) => {
  const kept = responseFields({ target, host, fields });
  return kept.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), kept[at + 1]]] : []));
};

test('what a port says of the connection, of the platform and of a whole site does not pass', () => {
  const hostile = [
    'Connection',
    'close',
    'X-Caisson-Anything',
    '1',
    'Clear-Site-Data',
    '"*"',
    'Proxy-Authenticate',
    'x',
  ];
  expect(fieldsOf(named, [...hostile, 'Content-Type', 'text/plain'])).toEqual([['content-type', 'text/plain']]);
});

test('by path a page is nobody, and cannot speak for the host that it shares', () => {
  const hostile = ['Service-Worker-Allowed', '/', 'Strict-Transport-Security', 'max-age=1', 'Alt-Svc', 'h3=":1"'];
  expect(fieldsOf(byPath, [...hostile, 'Content-Security-Policy', "default-src 'self'"])).toEqual([
    ['content-security-policy', "default-src 'self'"],
    ['content-security-policy', 'sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads'],
  ]);
});

test.each([
  ['/login', '/login', `${byPath.prefix}/login`],
  ['http://localhost:3000/login?a=b', '/login?a=b', `${byPath.prefix}/login?a=b`],
  ['https://127.0.0.1:3000', '/', `${byPath.prefix}/`],
  ['//localhost:3000/x', '/x', `${byPath.prefix}/x`],
  ['next', 'next', 'next'],
  ['https://example.com/', 'https://example.com/', 'https://example.com/'],
  ['//example.com/', '//example.com/', '//example.com/'],
  ['http://localhost:4000/', 'http://localhost:4000/', 'http://localhost:4000/'],
])('a redirect to %j leads to %j, and by path to %j', (given, toName, toPath) => {
  expect(locationFromPort(given, named, host)).toBe(toName);
  expect(locationFromPort(given, byPath, host)).toBe(toPath);
});
