import { expect, test } from 'vitest';
import { BoundedText } from './bounded-text.ts';

const of = (maxBytes: number, ...pieces: string[]) => {
  const bounded = new BoundedText(maxBytes);
  for (const piece of pieces) bounded.push(Buffer.from(piece));
  return bounded;
};

test('what fits is whole, in whatever pieces it came', () => {
  for (const pieces of [['abcdefgh'], ['abc', 'defgh'], [...'abcdefgh']]) {
    const bounded = of(8, ...pieces);
    expect([bounded.toString(), bounded.isTruncated]).toEqual(['abcdefgh', false]);
  }
});

test('of more the beginning and the end are kept, and how much is missing', () => {
  for (const pieces of [['abcdefghijkl'], [...'abcdefghijkl'], ['abcdefg', 'hijkl']]) {
    const bounded = of(6, ...pieces);
    expect([bounded.toString(), bounded.isTruncated]).toEqual(['abc\n… 6 bytes left out …\njkl', true]);
  }
});

test('no character is cut in two', () => {
  expect(of(10, 'ééé', 'x'.repeat(20), '€€').toString()).toBe('éé\n… 22 bytes left out …\n€');
});
