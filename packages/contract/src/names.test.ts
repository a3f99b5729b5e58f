import { expect, test } from 'vitest';
import { labelsSchema, nameSchema } from './names.ts';

test.each(['a', 'web-1', '0', 'a'.repeat(63)])('takes %j as a name', (name) => {
  expect(nameSchema.safeParse(name).success).toBe(true);
});

test.each(['', '-a', 'a-', 'A', 'a_b', 'a.b', 'a b', 'a\n', 'a\0', 'ä', 'a'.repeat(64), '__proto__'])(
  'refuses %j as a name',
  (name) => {
    expect(nameSchema.safeParse(name).success).toBe(false);
  },
);

test.each([
  ['a newline in a value', { k: 'a\nb' }],
  ['NUL in a value', { k: 'a\0b' }],
  ['a lone surrogate in a value', { k: 'a\ud800' }],
  ['a line separator in a value', { k: 'a\u2028' }],
  ['a terminal escape in a value', { k: '\u001b[31m' }],
  ['a newline in a key', { 'a\n': 'v' }],
  ['an empty key', { '': 'v' }],
  ['a prototype key', JSON.parse('{"__proto__":"v"}')],
  ['a value that is too long', { k: 'x'.repeat(257) }],
  ['a number as a value', { k: 1 }],
  ['65 labels', Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, 'v']))],
])('refuses %s', (_, labels) => {
  const parsed = labelsSchema.safeParse(labels);
  // A parser may also drop a prototype key; it must never let it through.
  expect(parsed.success && Object.keys(parsed.data).length > 0).toBe(false);
});

test('takes emoji, umlauts and the names that objects inherit as labels', () => {
  const labels = { team: 'Käse 🧀', constructor: 'x', toString: 'y' };
  expect(labelsSchema.parse(labels)).toEqual(labels);
});
