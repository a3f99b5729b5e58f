import { expect, test } from 'vitest';
import { csvLine } from './csv.ts';

test('values are separated, quoted where they must be, and empty where there is none', () => {
  expect(csvLine(['a', 1, null, true, 'b,c', 'say "x"', 'two\nlines'])).toBe(
    'a,1,,true,"b,c","say ""x""","two\nlines"',
  );
});

test('text that a spreadsheet would run is text, and a number is a number', () => {
  expect(csvLine(['=1+1', '@x', '-2', -2])).toBe("'=1+1,'@x,'-2,-2");
});
