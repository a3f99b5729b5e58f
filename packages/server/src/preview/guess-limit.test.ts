import { expect, test } from 'vitest';
import { addressKey, GuessLimit } from './guess-limit.ts';

test('guesses are counted, and forgiven with time', () => {
  const limit = new GuessLimit({ burst: 3, perSecond: 1 });
  for (let n = 0; n < 3; n += 1) limit.count('a', 0);
  expect(limit.isOver('a', 0)).toBe(true);
  expect(limit.isOver('b', 0)).toBe(false);
  expect(limit.isOver('a', 1_001)).toBe(false);
  for (let n = 0; n < 1_000; n += 1) limit.count('a', 2_000);
  expect(limit.isOver('a', 3_500)).toBe(false);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['2001:DB8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
])('%s counts as %s', (address, key) => {
  expect(addressKey(address)).toBe(key);
});
