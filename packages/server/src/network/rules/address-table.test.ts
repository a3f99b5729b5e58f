import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Address, readAddress, readRange } from './address.ts';
import { AddressTable } from './address-table.ts';

function read<Read>(text: string, reader: (text: string) => Read | undefined): Read {
  const value = reader(text);
  if (value === undefined) throw new Error(`cannot read ${text}`);
  return value;
}

function around(ranges: readonly string[], address: Address): number[] {
  const table = new AddressTable<string>();
  for (const range of ranges) table.at(read(range, readRange), () => range);
  const found: number[] = [];
  table.find(address, (_, prefix) => {
    found.push(prefix);
    return undefined;
  });
  return found;
}

/** The slow way: the same bits in front. */
function holds(range: string, address: Address): boolean {
  const { family, bits, prefix } = read(range, readRange);
  const rest = BigInt((family === 4 ? 32 : 128) - prefix);
  return family === address.family && bits >> rest === address.bits >> rest;
}

test('the ranges around an address are found from the narrowest to the widest', () => {
  const ranges = ['0.0.0.0/0', '10.0.0.0/8', '10.1.0.0/16', '10.1.2.0/24', '10.1.2.3', '11.0.0.0/8', '::/0'];
  expect(around(ranges, read('10.1.2.3', readAddress))).toEqual([32, 24, 16, 8, 0]);
  expect(around(ranges, read('10.1.3.3', readAddress))).toEqual([16, 8, 0]);
  expect(around(ranges, read('12.0.0.1', readAddress))).toEqual([0]);
  expect(around(ranges, read('2001:db8::1', readAddress))).toEqual([0]);
  expect(around([], read('10.1.2.3', readAddress))).toEqual([]);
});

describe('among many ranges, those around an address are exactly those that share its first bits', () => {
  // Few values, so that ranges lie in one another and side by side.
  const octet = fc.constantFrom(0, 1, 127, 128, 255);
  const quad = fc.tuple(octet, octet, octet, octet).map((parts) => parts.join('.'));
  const group = fc.constantFrom('0', '1', '7fff', '8000', 'ffff');
  const groups = fc.array(group, { minLength: 8, maxLength: 8 }).map((parts) => parts.join(':'));
  const kinds: [string, fc.Arbitrary<string>, number][] = [
    ['IPv4', quad, 32],
    ['IPv6', groups, 128],
  ];
  test.each(kinds)('%s', (_, address, width) => {
    const range = fc.tuple(address, fc.integer({ min: 0, max: width })).map(([base, prefix]) => `${base}/${prefix}`);
    fc.assert(
      fc.property(fc.array(range, { maxLength: 60 }), address, (ranges, text) => {
        const at = read(text, readAddress);
        const expected = new Set(ranges.filter((one) => holds(one, at)).map((one) => read(one, readRange).prefix));
        expect(around(ranges, at)).toEqual([...expected].sort((a, b) => b - a));
      }),
      { numRuns: 1_000 },
    );
  });
});

test('a range that is added after a question counts for the next', () => {
  const table = new AddressTable<string>();
  const address = read('10.1.2.3', readAddress);
  const ask = () => table.find(address, (value) => value);
  expect(ask()).toBeUndefined();
  table.at(read('10.0.0.0/8', readRange), () => 'wide');
  expect(ask()).toBe('wide');
  table.at(read('10.1.0.0/16', readRange), () => 'narrow');
  expect(ask()).toBe('narrow');
});
