import { networkInterfaces } from 'node:os';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { quadWithin, spellingsOf } from '../../../testing/address-spellings.ts';
import { readRange } from './address.ts';
import { ClosedAddresses, ownAddresses } from './closed-addresses.ts';
import { closedRanges, embeddings, metadataAddresses } from './closed-ranges.ts';
import { readHost } from './host.ts';

const nobody = () => [];
const closed = new ClosedAddresses([], nobody);

function refusesHost(addresses: ClosedAddresses, text: string): boolean {
  const host = readHost(text);
  if (host?.kind !== 'address') throw new Error(`${text} was not read as an address`);
  return addresses.refuses(host.address, 80);
}

test('every range of the tables can be read', () => {
  const ranges = [...closedRanges, ...metadataAddresses].map(([range]) => range);
  expect([...ranges, ...embeddings.map(({ range }) => range)].filter((range) => !readRange(range))).toEqual([]);
});

describe('closed by range', () => {
  const quads = closedRanges.flatMap(([range]) => (range.includes(':') ? [] : [range.split('/') as [string, string]]));

  test.each(quads)('any spelling of any address in %s/%s', (quad, prefix) => {
    fc.assert(
      fc.property(quadWithin(quad, Number(prefix)), (address) => {
        for (const text of spellingsOf(address)) expect([text, refusesHost(closed, text)]).toEqual([text, true]);
      }),
      { numRuns: 40 },
    );
  });

  test.each([
    '::',
    '::1',
    '64:ff9b:1::1',
    'fc00::1',
    'fdff:ffff::1',
    'fe80::1',
    'febf::1',
    'fec0::1',
    'feff::1',
    'ff02::1',
  ])('%s', (address) => expect(closed.refuses(address, 80)).toBe(true));
});

describe('open', () => {
  test.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.167.255.255',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.80',
    '2001:db8::1',
    '2606:4700::1111',
    '64:ff9b::203.0.113.80',
    '2002:cb00:7150::1',
  ])('%s', (address) => expect(closed.reason(address, 80)).toBeUndefined());
});

describe('where a cloud keeps credentials', () => {
  const quads = metadataAddresses.filter(([address]) => address.includes('.'));

  test.each(quads)('%s (%s) in every spelling', (address) => {
    const parts = address.split('.').map(Number) as [number, number, number, number];
    const spellings = spellingsOf(parts);
    expect(new Set(spellings).size).toBeGreaterThanOrEqual(20);
    for (const text of spellings) expect([text, refusesHost(closed, text)]).toEqual([text, true]);
  });

  test.each(metadataAddresses)('%s says that it is: %s', (address, reason) =>
    expect(closed.reason(address, 80)).toBe(reason),
  );

  test('is opened by its address, not by a range around it', () => {
    const byRange = new ClosedAddresses(['169.254.0.0/16', '0.0.0.0/0'], nobody);
    expect(byRange.refuses('169.254.1.1', 80)).toBe(false);
    expect(byRange.refuses('169.254.169.254', 80)).toBe(true);
    expect(byRange.refuses('64:ff9b::a9fe:a9fe', 80)).toBe(true);
    const byName = new ClosedAddresses(['169.254.169.254:80'], nobody);
    expect(byName.refuses('169.254.169.254', 80)).toBe(false);
    expect(byName.refuses('169.254.169.254', 81)).toBe(true);
  });
});

describe("the machine's own addresses", () => {
  test('are closed, also where they are public, and as they change', () => {
    let own = ['203.0.113.7', '2001:DB8:0::7'];
    const addresses = new ClosedAddresses([], () => own);
    expect(addresses.refuses('203.0.113.7', 22)).toBe(true);
    expect(addresses.refuses('64:ff9b::203.0.113.7', 22)).toBe(true);
    expect(addresses.refuses('2001:db8::7', 22)).toBe(true);
    expect(addresses.refuses('203.0.113.8', 22)).toBe(false);
    own = ['203.0.113.8'];
    expect(addresses.refuses('203.0.113.8', 22)).toBe(true);
    expect(addresses.refuses('203.0.113.7', 22)).toBe(false);
  });

  test('are opened alone, not by a range around them', () => {
    const own = () => ['10.1.0.5'];
    expect(new ClosedAddresses(['10.1.0.0/16'], own).refuses('10.1.0.5', 22)).toBe(true);
    expect(new ClosedAddresses(['10.1.0.0/16'], own).refuses('10.1.0.6', 22)).toBe(false);
    expect(new ClosedAddresses(['10.1.0.5/32'], own).refuses('10.1.0.5', 22)).toBe(false);
  });

  test('are read from its interfaces', () => {
    const real = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const outer = real.filter(({ internal }) => !internal).map(({ address }) => address);
    expect(ownAddresses()).toEqual(outer);
    expect(ownAddresses()).toBe(ownAddresses());
    for (const address of outer) expect(new ClosedAddresses([]).refuses(address, 22)).toBe(true);
  });
});

describe('what the operator opens', () => {
  test.each<[string, string, number, boolean]>([
    ['127.0.0.1', '127.0.0.1', 1, false],
    ['127.0.0.1', '127.0.0.2', 1, true],
    ['127.0.0.1:8080', '127.0.0.1', 8080, false],
    ['127.0.0.1:8080', '127.0.0.1', 8081, true],
    ['127.0.0.1:8080', '::ffff:127.0.0.1', 8080, false],
    ['127.0.0.0/8', '127.9.9.9', 1, false],
    ['10.1.0.0/16', '10.1.255.255', 1, false],
    ['10.1.0.0/16', '10.2.0.0', 1, true],
    ['10.1.2.3/16:5432', '10.1.9.9', 5432, false],
    ['10.1.0.0/16:5432', '10.1.9.9', 5433, true],
    ['fd00::1', 'fd00::1', 1, false],
    ['[fd00::1]:443', 'fd00:0::1', 443, false],
    ['[fd00::1]:443', 'fd00::1', 444, true],
    ['[fd00::/8]:443', 'fd12::1', 443, false],
    ['fd00::/8', 'fd12::1', 1, false],
    ['fd00::/8', 'fc00::1', 1, true],
    ['::ffff:10.0.0.0/104', '10.9.9.9', 1, false],
    ['::/0', '10.9.9.9', 1, true],
  ])('%s: %s port %d is closed: %s', (entry, address, port, refused) =>
    expect(new ClosedAddresses([entry], nobody).refuses(address, port)).toBe(refused),
  );

  test('a port beside a wider entry adds to it', () => {
    const addresses = new ClosedAddresses(['10.0.0.1:22', '10.0.0.0/8:80'], nobody);
    expect([22, 80, 443].map((port) => addresses.refuses('10.0.0.1', port))).toEqual([false, false, true]);
  });

  test.each(['', 'example.com', '10.0.0.0/33', '10.0.0.1:0', '10.0.0.1:65536', '10.1', '::1%lo', '[::1', '10.0.0.1:'])(
    '%j is told to be none',
    (entry) =>
      expect(() => new ClosedAddresses([entry], nobody)).toThrow(expect.objectContaining({ code: 'request_invalid' })),
  );
});

test.each(['', 'example.com', '0x7f.1', 'fe80::1%eth0', '::1]'])('%j, which is no address, is closed', (text) =>
  expect(new ClosedAddresses(['0.0.0.0/0', '::/0'], nobody).refuses(text, 80)).toBe(true),
);
