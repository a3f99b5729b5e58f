import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hostText, readHost, readTarget, targetText } from './host.ts';

const read = (text: string) => {
  const host = readHost(text);
  return host && hostText(host);
};

describe('a name has one spelling', () => {
  test.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.Com', 'example.com'],
    ['example.com.', 'example.com'],
    ['_acme.example.com', '_acme.example.com'],
    ['a_b.example.com', 'a_b.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['ｅｘａｍｐｌｅ。com', 'example.com'],
    ['exa\u00admple.com', 'example.com'],
    ['single', 'single'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ])('%j', (text, name) => expect(readHost(text)).toEqual({ kind: 'name', name }));
});

describe('an IPv4 address in any spelling is a dotted quad', () => {
  test.each([
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7F.1',
    '017700000001',
    '0177.0.0.01',
    '127.0.0.1.',
    '１２７.0.0.1',
    '127。0。0。1',
    '127．0．0．1',
    '::ffff:127.0.0.1',
    '::FFFF:7f00:1',
    '[::ffff:7f00:0001]',
    '0:0:0:0:0:ffff:127.0.0.1',
    'localhost',
    'LOCALHOST.',
    'a.b.localhost',
  ])('%j', (text) => expect(readHost(text)).toEqual({ kind: 'address', address: '127.0.0.1' }));
});

describe('an IPv6 address has one spelling', () => {
  test.each([
    ['2001:DB8::1', '2001:db8::1'],
    ['[2001:db8:0:0:0:0:0:1]', '2001:db8::1'],
    ['2001:0db8::0001', '2001:db8::1'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
    ['::1.2.3.4', '::102:304'],
    ['::', '::'],
    ['1:0:3:4:5:6:7:8', '1:0:3:4:5:6:7:8'],
  ])('%j', (text, address) => expect(readHost(text)).toEqual({ kind: 'address', address }));
});

describe('what no careful program sends is not read', () => {
  test.each([
    '',
    '.',
    '..',
    'a..b',
    '.a.com',
    'example.com..',
    'example.com.。',
    'exam%70le.com',
    '％65xample.com',
    'example.com\0',
    'example.com\0.allowed.org',
    'exa\tmple.com',
    'example.com\n',
    ' example.com',
    'exa mple.com',
    'example.com\u00a0',
    'example.com\u3000',
    'user@example.com',
    'example.com/path',
    'example.com\\path',
    'example.com#x',
    'example.com?x',
    'ａ：80',
    'a／b.com',
    '-a.com',
    'a-.com',
    'a*.com',
    '*.example.com',
    'a,b.com',
    'xn--a.com',
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(126)}ab`,
    '1.2.3.4.5',
    '1.2.3.256',
    '4294967296',
    '08.8.8.8',
    'example.1',
    'example.0x1',
    '[127.0.0.1]',
    '[::1',
    '::1]',
    '[[::1]]',
    '[]',
    'fe80::1%eth0',
    '[fe80::1%25eth0]',
    '1::2::3',
    '12345::',
    ':',
    'example.com:80',
    '１::1',
    'a'.repeat(1_000_000),
  ])('%j', (text) => expect(readHost(text)).toBeUndefined());
});

test('reading is idempotent, and whatever is sent is read or refused', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.string({ unit: fc.constantFrom(...'aZ0179xX.:[]-_%。１．ß\u00ad\u200d'), maxLength: 40 }),
    fc.domain(),
    fc.ipV4Extended(),
    fc.ipV6(),
  );
  let readable = 0;
  fc.assert(
    fc.property(texts, (text) => {
      const host = readHost(text);
      if (host === undefined) return;
      readable += 1;
      expect(readHost(hostText(host))).toEqual(host);
      expect(hostText(host)).toMatch(host.kind === 'name' ? /^[a-z0-9_.-]{1,253}$/ : /^[0-9a-f.:]+$/);
    }),
    { numRuns: 5_000 },
  );
  expect(readable).toBeGreaterThan(500);
});

test('neither case nor a last dot changes what a name is', () => {
  fc.assert(
    fc.property(fc.domain(), fc.infiniteStream(fc.boolean()), fc.boolean(), (name, upper, dot) => {
      const text = [...name].map((sign) => (upper.next().value ? sign.toUpperCase() : sign)).join('');
      expect(read(dot ? `${text}.` : text)).toBe(read(name));
    }),
  );
});

describe('a target', () => {
  test.each<[string, number | undefined, string | undefined]>([
    ['example.com:443', undefined, 'example.com:443'],
    ['Example.com.', 80, 'example.com:80'],
    ['example.com:8080', 80, 'example.com:8080'],
    ['[2001:DB8::1]:443', undefined, '[2001:db8::1]:443'],
    ['[2001:db8::1]', 80, '[2001:db8::1]:80'],
    ['[::ffff:192.0.2.1]:1', undefined, '192.0.2.1:1'],
    ['0x7f.1:65535', undefined, '127.0.0.1:65535'],
    ['example.com', undefined, undefined],
    ['example.com:', 80, undefined],
    ['example.com:0', undefined, undefined],
    ['example.com:080', undefined, undefined],
    ['example.com:65536', undefined, undefined],
    ['example.com:+80', undefined, undefined],
    ['example.com:80 ', undefined, undefined],
    ['example.com:80:80', undefined, undefined],
    ['2001:db8::1', 80, undefined],
    ['2001:db8::1:443', undefined, undefined],
    ['[2001:db8::1]443', undefined, undefined],
    ['[2001:db8::1', 80, undefined],
    ['x[::1]:80', undefined, undefined],
    [':80', undefined, undefined],
    ['user@example.com:80', undefined, undefined],
    ['', 80, undefined],
  ])('%j with default port %s', (text, port, expected) => {
    const target = readTarget(text, port);
    expect(target && targetText(target)).toBe(expected);
  });
});
