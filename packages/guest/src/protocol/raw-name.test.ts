import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ProtocolError } from './protocol-error.ts';
import { decodeName, encodeName } from './raw-name.ts';

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.string({ unit: 'binary' }).map((s) => new Uint8Array(Buffer.from(s))),
  // Mostly lead and continuation bytes: the neighbourhood of valid UTF-8.
  fc
    .array(fc.constantFrom(0x41, 0x80, 0xbf, 0xc2, 0xe0, 0xed, 0xa0, 0x9f, 0xf0, 0x90, 0xf4, 0x8f, 0xff))
    .map((a) => new Uint8Array(a)),
);

test('every name of bytes comes back as the same bytes', () => {
  fc.assert(
    fc.property(bytes, (raw) => {
      expect(encodeName(decodeName(raw))).toEqual(Buffer.from(raw));
    }),
    { numRuns: 5000 },
  );
});

test('every name of bytes survives JSON', () => {
  fc.assert(
    fc.property(bytes, (raw) => {
      const text = Buffer.from(JSON.stringify(decodeName(raw)), 'utf8').toString('utf8');
      expect(encodeName(JSON.parse(text) as string)).toEqual(Buffer.from(raw));
    }),
    { numRuns: 2000 },
  );
});

test('a valid name is the text it looks like, a byte order mark included', () => {
  expect(decodeName(Buffer.from('\ufeffcafé 🦀'))).toBe('\ufeffcafé 🦀');
});

test('a byte that is not UTF-8 is a lone surrogate', () => {
  expect(decodeName(Buffer.from([0x63, 0xe9, 0x63]))).toBe('c\udce9c');
});

test('a surrogate that stands for no byte is refused', () => {
  expect(() => encodeName('\ud800')).toThrow(ProtocolError);
  expect(() => encodeName('\udc7f')).toThrow(ProtocolError);
});
