import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { readClientHello } from './client-hello.ts';

const u16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const sized = (bytes: Buffer) => Buffer.concat([u16(bytes.length), bytes]);
const extension = (type: number, body: Buffer) => Buffer.concat([u16(type), sized(body)]);
const nameExtension = (name: string) =>
  extension(0, sized(Buffer.concat([Buffer.from([0]), sized(Buffer.from(name, 'latin1'))])));

/** A hello with these extensions, in records of this size. */
function hello(extensions: readonly Buffer[], recordSize = 16_384): Buffer {
  const body = Buffer.concat([
    ...[Buffer.from([3, 3]), Buffer.alloc(32, 7), Buffer.from([0]), sized(Buffer.from([0x13, 1]))],
    ...[Buffer.from([1, 0]), sized(Buffer.concat(extensions))],
  ]);
  const message = Buffer.concat([Buffer.from([1, 0]), u16(body.length), body]);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += recordSize)
    records.push(Buffer.from([22, 3, 1]), sized(message.subarray(at, at + recordSize)));
  return Buffer.concat(records);
}

test('the name is found, whatever records it is cut into', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 0, max: 400 }), (recordSize, padding) => {
      const bytes = hello([extension(21, Buffer.alloc(padding)), nameExtension('example.com')], recordSize);
      expect(readClientHello(bytes)).toEqual({ name: 'example.com', hidesName: false });
      expect(readClientHello(Buffer.concat([bytes, Buffer.from('more')]))).toEqual(readClientHello(bytes));
    }),
  );
});

test('a part of a hello needs more, and is never taken for a whole one', () => {
  const bytes = hello([nameExtension('example.com')], 50);
  for (let size = 0; size < bytes.length; size += 1) expect(readClientHello(bytes.subarray(0, size))).toBe('more');
});

test('a hello in a record for each of its bytes is put together once, however long it says it is', () => {
  const byte = (value: number) => [22, 3, 1, 0, 1, value];
  const bytes = Buffer.from([1, 0, 0xff, 0xf0, ...Array(10_000).fill(0)].flatMap(byte));
  const concat = vi.spyOn(Buffer, 'concat');
  expect(readClientHello(bytes)).toBe('more');
  expect(concat.mock.calls.length).toBeLessThan(3);
  concat.mockRestore();
});

test('a hello without a name, and one that hides it, say so', () => {
  expect(readClientHello(hello([extension(10, Buffer.alloc(2))]))).toEqual({ name: undefined, hidesName: false });
  const hidden = hello([nameExtension('front.com'), extension(0xfe0d, Buffer.alloc(9))]);
  expect(readClientHello(hidden)).toEqual({ name: 'front.com', hidesName: true });
});

test.each([
  ['two names', hello([nameExtension('a.com'), nameExtension('b.com')])],
  ['an empty name', hello([nameExtension('')])],
  ['a list of two names', hello([extension(0, sized(Buffer.from('\0\0\x01a\0\0\x01b', 'latin1')))])],
  ['an extension that is longer than all of them', hello([Buffer.from([0, 0, 255, 255])])],
  ['another message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
  [
    'an alert in between',
    Buffer.concat([hello([nameExtension('a.com')]).subarray(0, 9), Buffer.from([21, 3, 3, 0, 2])]),
  ],
  ['a record without anything', Buffer.from([22, 3, 1, 0, 0])],
])('a hello with %s is malformed', (_, bytes) => {
  const padded = Buffer.concat([bytes, Buffer.alloc(300, 21)]);
  expect(readClientHello(padded)).toBe('malformed');
});

test('nothing that a stranger sends throws', () => {
  const real = hello([nameExtension('example.com'), extension(16, Buffer.alloc(9))]);
  const spoiled = fc.array(fc.tuple(fc.nat(real.length - 1), fc.nat(255)), { maxLength: 8 }).map((changes) => {
    const bytes = Buffer.from(real);
    for (const [at, value] of changes) bytes[at] = value;
    return bytes;
  });
  const random = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.concat([Buffer.from([22, 3]), bytes]));
  fc.assert(
    fc.property(fc.oneof(spoiled, random), (bytes) => {
      const found = readClientHello(bytes);
      expect(typeof found === 'string' || typeof found.hidesName === 'boolean').toBe(true);
    }),
  );
});
