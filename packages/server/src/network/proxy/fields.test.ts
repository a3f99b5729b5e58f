import fc from 'fast-check';
import { expect, test } from 'vitest';
import { areWritable, type Fields, framingOf, pairsOf, passedOn } from './fields.ts';

test('fields between neighbours stay behind, and those that the Connection field names', () => {
  const fields: Fields = [
    ...([
      ['Connection', 'close, X-Mine'],
      ['x-mine', '1'],
      ['Keep-Alive', '1'],
      ['TE', 'trailers'],
    ] as const),
    ...([
      ['Proxy-Authorization', 'x'],
      ['Upgrade', 'h2c'],
      ['Accept', 'a'],
      ['Accept', 'b'],
    ] as const),
  ];
  expect(passedOn(fields)).toEqual([
    ['Accept', 'a'],
    ['Accept', 'b'],
  ]);
});

test('no Connection field takes away what a message means', () => {
  const fields: Fields = [
    ['Connection', 'content-length, host, authorization, cookie'],
    ['Content-Length', '5'],
    ['Host', 'a'],
    ['Authorization', 'x'],
    ['Cookie', 'y'],
  ];
  expect(passedOn(fields)).toEqual(fields.slice(1));
});

test.each([
  [[], '1.1', 'none'],
  [[['Content-Length', '5']], '1.1', 'length'],
  [[['Transfer-Encoding', 'Chunked']], '1.1', 'chunked'],
  [[['Transfer-Encoding', 'chunked']], '1.0', undefined],
  [[['Transfer-Encoding', 'gzip, chunked']], '1.1', undefined],
  [
    [
      ['Transfer-Encoding', 'chunked'],
      ['Content-Length', '5'],
    ],
    '1.1',
    undefined,
  ],
  [
    [
      ['Content-Length', '5'],
      ['content-length', '5'],
    ],
    '1.1',
    undefined,
  ],
  [[['Content-Length', '5, 5']], '1.1', undefined],
  [[['Content-Length', '-5']], '1.1', undefined],
  [[['Content-Length', '0x5']], '1.1', undefined],
] as const)('%j in HTTP/%s is framed by %s', (fields, version, framing) => {
  expect(
    framingOf(
      fields.map(([name, value]) => [name, value] as const),
      version,
    ),
  ).toBe(framing);
});

test('a value with a line end or a NUL in it is never written', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom('\r', '\n', '\0', '\r\n'), fc.string(), (before, bad, after) => {
      expect(areWritable([['X-A', `${before}${bad}${after}`]])).toBe(false);
      expect(areWritable([[`X${bad}A`, 'a']])).toBe(false);
    }),
  );
  expect(areWritable([['X-A', 'plain \u00e4']])).toBe(true);
});

test('a flat list becomes pairs in its order', () => {
  expect(pairsOf(['a', '1', 'a', '2'])).toEqual([
    ['a', '1'],
    ['a', '2'],
  ]);
});
