import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readGreeting, readSocksRequest } from './socks-message.ts';

test('a greeting is accepted when it offers no authentication', () => {
  expect(readGreeting(Buffer.from([5, 2, 2, 0, 9]))).toEqual({ isAccepted: true, size: 4 });
  expect(readGreeting(Buffer.from([5, 1, 2]))).toEqual({ isAccepted: false, size: 3 });
  expect(readGreeting(Buffer.from([5, 2, 2]))).toBe('more');
  expect(readGreeting(Buffer.from([4]))).toBe('malformed');
});

test.each([
  ['an IPv4 address', [5, 1, 0, 1, 8, 8, 8, 8, 0, 80], { kind: 'address', address: '8.8.8.8' }, 80],
  ['a name', [5, 1, 0, 3, 4, 0x61, 0x2e, 0x42, 0x63, 1, 187], { kind: 'name', name: 'a.bc' }, 443],
  [
    'an IPv6 address',
    [5, 1, 0, 4, 0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1, 0, 80],
    { kind: 'address', address: '2001:db8::1' },
    80,
  ],
  [
    'an IPv4 address in IPv6',
    [5, 1, 0, 4, ...Array(10).fill(0), 255, 255, 8, 8, 8, 8, 0, 80],
    { kind: 'address', address: '8.8.8.8' },
    80,
  ],
])('%s is read', (_, bytes, host, port) => {
  expect(readSocksRequest(Buffer.from(bytes))).toEqual({ target: { host, port }, size: bytes.length });
  for (let size = 0; size < bytes.length; size += 1)
    expect(readSocksRequest(Buffer.from(bytes.slice(0, size)))).toBe('more');
});

test('a name that is an address in disguise is that address', () => {
  const name = Buffer.from('0x7f.1');
  const bytes = Buffer.concat([Buffer.from([5, 1, 0, 3, name.length]), name, Buffer.from([0, 80])]);
  expect(readSocksRequest(bytes)).toMatchObject({ target: { host: { kind: 'address', address: '127.0.0.1' } } });
});

test('nothing that a stranger sends throws', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      for (const message of [Buffer.from(bytes), Buffer.concat([Buffer.from([5, 1, 0]), bytes])]) {
        expect(readGreeting(message)).toBeDefined();
        expect(readSocksRequest(message)).toBeDefined();
      }
    }),
  );
});
