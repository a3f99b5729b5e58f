import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Message, mapFields, writeMessage } from './protobuf.ts';

const number = fc.integer({ min: 1, max: 500_000 });

test('what is written is read again', () => {
  fc.assert(
    fc.property(number, fc.string(), fc.uint8Array(), fc.nat(), (field, text, bytes, count) => {
      const parts = [field, field + 1, field + 2] as const;
      const message = new Message(writeMessage([parts[0], text], [parts[1], bytes], [parts[2], count]));
      expect(message.string(parts[0])).toBe(text);
      expect(message.bytes(parts[1])).toEqual(Buffer.from(bytes));
      expect(message.uint(parts[2])).toBe(count);
    }),
  );
});

test('a map and a list of messages keep every entry', () => {
  const map = { a: '1', '': 'x', b: '' };
  const message = new Message(writeMessage(...mapFields(4, map), [7, 'one'], [7, 'two']));
  expect(Object.fromEntries(message.map(4))).toEqual(map);
  expect(message.strings(7)).toEqual(['one', 'two']);
  expect(message.has(5)).toBe(false);
  expect(message.message(5)).toBeUndefined();
});

test('numbers beyond those that count exactly are written whole', () => {
  expect(writeMessage([1, 2n ** 63n]).toString('hex')).toBe('0880808080808080808001');
});

test('bytes that are no message are refused, and never anything else', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        new Message(Buffer.from(bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }),
  );
  expect(() => new Message(Buffer.from('0affffffff0f00', 'hex'))).toThrow('cut short');
  expect(() => new Message(Buffer.alloc(20, 0xff))).toThrow('no end');
});
