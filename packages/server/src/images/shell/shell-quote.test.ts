import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellQuote, shellWords } from './shell-quote.ts';

const hostile = fc.constantFrom(
  "'",
  '"',
  '$',
  '`',
  '\\',
  '\n',
  '\r',
  ' ',
  ';',
  '&',
  '|',
  '<<EOF',
  '$(x)',
  '!',
  '*',
  '~',
  '#',
  '=',
  '-',
);
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\0')),
  fc.array(hostile, { maxLength: 12 }).map((parts) => parts.join('')),
);

test('a shell reads back exactly the words that were quoted', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 40 }), (words) => {
      // printf ends each with a NUL, so that no word can pretend to be two.
      const said = execFileSync('/bin/sh', ['-c', `printf '%s\\0' ${shellWords(words)}`]).toString('utf8');
      expect(said).toBe(words.map((word) => `${word}\0`).join(''));
    }),
    { numRuns: 40 },
  );
});

test('a plain word stays as it is', () => {
  expect(shellWords(['apt-get', 'g++', 'git=1:2.39.5-0+deb12u2', '/opt/x'])).toBe(
    'apt-get g++ git=1:2.39.5-0+deb12u2 /opt/x',
  );
});

test.each([
  ['', "''"],
  ["it's", "'it'\\''s'"],
  ['=x', "'=x'"],
  ['~', "'~'"],
])('%j is quoted as %s', (word, quoted) => {
  expect(shellQuote(word)).toBe(quoted);
});

test('a NUL is refused, because no shell can carry it', () => {
  expect(() => shellQuote('a\0b')).toThrow('NUL');
});
