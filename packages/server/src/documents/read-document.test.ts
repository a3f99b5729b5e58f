import { CaissonError } from '@caisson/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readDocument } from './read-document.ts';

function problemOf(text: string) {
  try {
    readDocument(text, 'spec_invalid', 'the spec');
  } catch (error) {
    if (error instanceof CaissonError) return { code: error.code, ...error.problems[0] };
    throw error;
  }
  return undefined;
}

test('reads YAML and JSON to the same value', () => {
  const value = { repo: 'https://example.org/a.git', packages: ['git', 'node@20'], env: { A: '1' } };
  expect(readDocument(JSON.stringify(value), 'spec_invalid')).toEqual(value);
  expect(
    readDocument('repo: https://example.org/a.git\npackages: [git, node@20]\nenv:\n  A: "1"\n', 'spec_invalid'),
  ).toEqual(value);
});

test('JSON may be larger than YAML', () => {
  const value = Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`k${n}`, n]));
  expect(readDocument(JSON.stringify(value), 'spec_invalid')).toEqual(value);
});

test('an alias used a few times is shared text, as people write it', () => {
  expect(readDocument('a: &x {k: v}\nb: *x\nc: *x\n', 'spec_invalid')).toEqual({
    a: { k: 'v' },
    b: { k: 'v' },
    c: { k: 'v' },
  });
});

const bomb = [
  'a0: &a0 [x, x, x, x, x, x, x, x, x]',
  ...Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`).join(', ')}]`),
].join('\n');

test.each([
  ['ten megabytes', 'a'.repeat(10_000_000), 'too_large'],
  ['brackets without end', '['.repeat(50_000), 'too_deep'],
  ['braces without end', '{"a":'.repeat(20_000), 'too_deep'],
  ['nested sequences in one line', '- '.repeat(100_000), 'too_deep'],
  ['a megabyte of YAML', 'a: b\n'.repeat(200_000), 'too_large'],
  [
    'a key repeated among tens of thousands',
    `${Array.from({ length: 20_000 }, (_, n) => `k${n}: 1`).join('\n')}\nk7: 2`,
    'malformed',
  ],
  ['an alias bomb', bomb, 'malformed'],
  ['an alias of nothing', 'a: *nothing', 'malformed'],
  ['the same key twice', 'a: 1\na: 2', 'malformed'],
  ['a tab as indentation', 'a:\n\t- b', 'malformed'],
  ['two documents', 'a: 1\n---\nb: 2', 'malformed'],
  ['an unclosed string', 'a: "b', 'malformed'],
])('refuses %s with one problem', (_, text, code) => {
  expect(problemOf(text)).toMatchObject({
    code,
    path: expect.any(String),
    message: expect.stringMatching(/^.{5,300}$/),
  });
});

test('a fault says where it is', () => {
  expect(problemOf('packages:\n  - git\n  - "node')).toMatchObject({
    path: expect.stringMatching(/^line 3, column \d+$/),
  });
});

test('tags make no objects but plain ones', () => {
  expect(problemOf('a: !!js/function "function(){}"')).toBeUndefined();
  expect(readDocument('a: !!js/function "function(){}"', 'spec_invalid')).toEqual({ a: 'function(){}' });
});

test('whatever the text, the answer is a value or our one error', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      problemOf(text);
    }),
    { numRuns: 2000 },
  );
  fc.assert(
    fc.property(fc.stringMatching(/^[-\s:{}[\]&*a!?|>"'#,\n]{0,60}$/), (text) => {
      problemOf(text);
    }),
    { numRuns: 3000 },
  );
});
