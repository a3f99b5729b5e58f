import { describe, expect, test } from 'vitest';
import { egressEntryRule } from './egress-entry.ts';
import { faultOfText } from './text.ts';

describe('a network entry', () => {
  test.each([
    ['example.com', 'example.com'],
    ['*.Example.com', '*.example.com'],
    ['example.com:443', 'example.com:443'],
    ['localhost', 'localhost'],
    ['localhost:8080', 'localhost:8080'],
    ['10.0.0.1', '10.0.0.1'],
    ['10.0.0.1:80', '10.0.0.1:80'],
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::1', '::1'],
    ['2001:DB8::/32', '2001:db8::/32'],
    ['[2001:db8::1]:443', '[2001:db8::1]:443'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
    ['npm', 'preset:npm'],
    ['preset:npm', 'preset:npm'],
  ])('%s is written %s', (entry, canonical) => {
    expect(faultOfText(egressEntryRule, entry)).toBeUndefined();
    expect(egressEntryRule.canonical?.(entry)).toBe(canonical);
    expect(egressEntryRule.canonical?.(canonical)).toBe(canonical);
    expect(faultOfText(egressEntryRule, canonical)).toBeUndefined();
  });

  test.each([
    'https://example.com',
    'example.com/path',
    '*',
    'a.*.com',
    '-a.com',
    'a-.com',
    'a..com',
    '256.1.1.1',
    '10.0.0',
    '010.0.0.1',
    '0x7f.1',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '::1/129',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '12345::',
    'example.com:0',
    'example.com:65536',
    'example.com:',
    ':443',
    'a b',
    'preset:',
    'preset:a.b',
    `preset:${'a'.repeat(64)}`,
    'exam\u212ale.com',
    `${'a'.repeat(64)}.com`,
  ])('%s is refused', (entry) => {
    expect(faultOfText(egressEntryRule, entry)).toMatchObject({ code: 'invalid_value' });
  });
});
