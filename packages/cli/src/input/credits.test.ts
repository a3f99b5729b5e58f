import fc from 'fast-check';
import { expect, test } from 'vitest';
import { creditText } from '../output/credit-text.ts';
import { parseCredits } from './credits.ts';

test('what is shown of an amount reads as the same amount', () => {
  const micros = fc.integer({ min: -999_999_999_000_000, max: 999_999_999_000_000 });
  fc.assert(fc.property(micros, (amount) => parseCredits(creditText(amount)) === amount));
});

test.each(['', '1.', '.5', '1e3', '0x1', '1.0000001', '--1', '1 000'])('%j is no amount', (text) => {
  expect(() => parseCredits(text)).toThrow('Write it as');
});
