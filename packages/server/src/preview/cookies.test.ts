import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cookieMark, cookiesForPort, passCookie, passesIn, setCookieFromPort } from './cookies.ts';

const sandbox = 'sbx0000000000000000000a' as const;
const named = { sandbox, port: 3000, prefix: '', domain: undefined };
const byPath = { ...named, prefix: `/preview/${sandbox}/3000` };
const neighbour = { ...byPath, sandbox: 'sbx0000000000000000000b' as const };

const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,12}$/);
const value = fc.stringMatching(/^[A-Za-z0-9_.-]{0,12}$/);
const cookies = fc.array(fc.tuple(name, value), { maxLength: 8 });

test('our own cookie never reaches the port, wherever it stands among others', () => {
  fc.assert(
    fc.property(cookies, value, fc.nat(8), fc.constantFrom(named, byPath), (others, pass, at, target) => {
      const pairs = others.map(([key, text]) => `${key}=${text}`);
      pairs.splice(Math.min(at, pairs.length), 0, `${passCookie}=${pass}`);
      const passed = cookiesForPort(pairs.join('; '), cookieMark(target)).split('; ');
      expect(passed.some((pair) => pair.startsWith(`${passCookie}=`))).toBe(false);
    }),
  );
});

test('in the path form a port gets back exactly the cookies that it set, and no other port gets any of them', () => {
  fc.assert(
    fc.property(cookies, cookies, (own, foreign) => {
      const jar = own.flatMap(
        ([key, text]) => setCookieFromPort(`${key}=${text}; Path=/`, byPath)?.split(';')[0] ?? [],
      );
      const header = [...jar, ...foreign.map(([key, text]) => `${key}=${text}`)].join('; ');
      const back = cookiesForPort(header, cookieMark(byPath));
      const kept = own.filter(([key]) => !key.toLowerCase().endsWith(passCookie));
      expect(back).toBe(kept.map(([key, text]) => `${key}=${text}`).join('; '));
      expect(cookiesForPort(jar.join('; '), cookieMark(neighbour))).toBe('');
    }),
  );
});

test.each([
  ['a=b; Domain=example.com; Path=/x; Secure', 'a=b; Path=/x; Secure'],
  ['a=b; domain=.example.com', 'a=b'],
  ['a=b', 'a=b'],
])('a port with a name of its own sets %j as %j', (given, set) => {
  expect(setCookieFromPort(given, named)).toBe(set);
});

test.each([
  ['a=b; Path=/x', `a=b; Path=${byPath.prefix}/x`],
  ['a=b; path=x', `a=b; Path=${byPath.prefix}/`],
  ['a=b; Path=/../..', `a=b; Path=${byPath.prefix}/../..`],
  ['a=b; Path=/x; Path=/', `a=b; Path=${byPath.prefix}/x; Path=${byPath.prefix}/`],
])('by path it sets %j under its own path and name', (given, set) => {
  expect(setCookieFromPort(given, byPath)).toBe(`${sandbox}-3000.${set}`);
});

test.each([
  `${passCookie}=x`,
  'Caisson-Preview=x',
  ` ${passCookie} =x; Path=/`,
  `__Host-${passCookie}=x`,
  `=${passCookie}=x`,
  'nothing',
  '',
])('a port cannot set %j', (given) => {
  expect(setCookieFromPort(given, named)).toBeUndefined();
});

test('of many cookies of our name a few are looked at', () => {
  const header = Array.from({ length: 50 }, (_, at) => `${passCookie}=${at}`).join('; ');
  expect(passesIn(header)).toEqual(['0', '1', '2', '3']);
  expect(passesIn(undefined)).toEqual([]);
});
