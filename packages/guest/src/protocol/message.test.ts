import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { messageArbitrary } from '../../testing/arbitrary.ts';
import { decodeMessage } from './decode-message.ts';
import { encodeMessage } from './encode-message.ts';
import {
  bool,
  choice,
  critical,
  int,
  message,
  name,
  nested,
  optional,
  repeated,
  text,
  uint,
  type Value,
} from './field.ts';
import { limits } from './limits.ts';
import { allMessages } from './methods.ts';
import { ProtocolError } from './protocol-error.ts';

const inner = message('inner', 'nested', { flag: bool(1, 'a flag') });
const example = message('example', 'one of each', {
  count: uint(1, 10, 'a small number', 2),
  shift: optional(int(2, -5, 5, 'signed')),
  words: repeated(text(3, 4, 'short words'), 2),
  file: optional(name(4, 8, 'a name', 1)),
  kind: optional(choice(5, { red: 1, blue: 4 }, 'a colour')),
  inner: optional(nested(6, inner, 16, 'nested')),
});

const field = (tag: number, type: number, body: Uint8Array, flags = 0, length = body.length) => {
  const header = Buffer.alloc(8);
  header.writeUInt16LE(tag, 0);
  header.writeUInt8(type, 2);
  header.writeUInt8(flags, 3);
  header.writeUInt32LE(length, 4);
  return Buffer.concat([header, body]);
};
const u64 = (value: bigint) => {
  const body = Buffer.alloc(8);
  body.writeBigUInt64LE(value);
  return body;
};
const count = field(1, 1, u64(3n));

function refusal(...fields: Buffer[]): string {
  try {
    decodeMessage(example, Buffer.concat(fields));
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    return (error as ProtocolError).code;
  }
  return 'accepted';
}

describe.each([...allMessages])('%s', (_, def) => {
  test('survives a round trip, and one value has one encoding', () => {
    fc.assert(
      fc.property(messageArbitrary(def), (value) => {
        const bytes = encodeMessage(def, value);
        const back = decodeMessage(def, bytes);
        expect(back).toEqual(value);
        expect(encodeMessage(def, back)).toEqual(bytes);
      }),
      { numRuns: 60 },
    );
  });

  test('gives a value or a ProtocolError for any bytes with its own tags', () => {
    const tags = [0, 1, ...def.byTag.keys()];
    const arbitrary = fc.array(
      fc.tuple(fc.constantFrom(...tags), fc.integer({ min: 0, max: 7 }), fc.uint8Array({ maxLength: 20 }), fc.nat(2)),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(arbitrary, (fields) => {
        const bytes = Buffer.concat(fields.map(([tag, type, body, flags]) => field(tag, type, body, flags)));
        try {
          const value = decodeMessage(def, bytes);
          expect(decodeMessage(def, encodeMessage(def, value))).toEqual(value);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
      { numRuns: 200 },
    );
  });
});

test('the type of a message follows its definition', () => {
  const value: Value<typeof example> = { count: 3, words: ['a'], kind: 'blue', inner: { flag: true } };
  expect(decodeMessage(example, encodeMessage(example, value))).toEqual(value);
  // @ts-expect-error: a colour that the choice does not have
  expect(() => encodeMessage(example, { count: 3, words: [], kind: 'green' })).toThrow(ProtocolError);
  // @ts-expect-error: count is required
  expect(() => encodeMessage(example, { words: [] })).toThrow(ProtocolError);
});

test('unknown tags are skipped wherever they stand', () => {
  const unknown = field(999, 6, Buffer.from('anything'));
  const value = decodeMessage(example, Buffer.concat([unknown, count, unknown, unknown]));
  expect(value).toEqual({ count: 3, words: [] });
});

test('an unknown tag that must be understood is refused, and a known one is not', () => {
  expect(refusal(count, field(999, 1, u64(1n), 1))).toBe('unknown_critical_field');
  const grown = message('example', 'a later release', { count: uint(1, 10, 'n'), strict: critical(bool(40, 'new')) });
  const bytes = encodeMessage(grown, { count: 3, strict: true });
  expect(decodeMessage(grown, bytes)).toEqual({ count: 3, strict: true });
  expect(refusal(bytes)).toBe('unknown_critical_field');
});

test.each<[string, Buffer[], string]>([
  ['a missing required field', [], 'missing_field'],
  ['a second value', [count, count], 'duplicate_field'],
  ['too many items', [count, ...Array<Buffer>(3).fill(field(3, 4, Buffer.from('a')))], 'too_many_items'],
  ['a cut field header', [count, Buffer.alloc(7)], 'truncated'],
  ['a field beyond the end', [count, field(3, 4, Buffer.from('a'), 0, 2)], 'truncated'],
  ['a field of 4 GiB', [count, field(3, 4, Buffer.from('a'), 0, 0xffff_ffff)], 'truncated'],
  ['another wire type', [field(1, 2, u64(3n))], 'wrong_type'],
  ['a short integer', [field(1, 1, Buffer.alloc(4))], 'wrong_length'],
  ['an integer below its bound', [field(1, 1, u64(1n))], 'out_of_range'],
  ['an integer above its bound', [field(1, 1, u64(11n))], 'out_of_range'],
  ['an integer of 64 bits', [field(1, 1, u64(0xffff_ffff_ffff_ffffn))], 'out_of_range'],
  ['a boolean of 2', [count, field(6, 6, field(1, 3, Buffer.from([2])))], 'out_of_range'],
  ['a choice that is none', [count, field(5, 1, u64(2n))], 'unknown_choice'],
  ['text that is not UTF-8', [count, field(3, 4, Buffer.from([0xc0, 0xaf]))], 'invalid_text'],
  ['text with NUL', [count, field(3, 4, Buffer.from([0x61, 0]))], 'invalid_text'],
  ['a name with NUL', [count, field(4, 5, Buffer.from([0]))], 'invalid_text'],
  ['an empty name where one is needed', [count, field(4, 5, Buffer.alloc(0))], 'too_long'],
  ['text that is too long', [count, field(3, 4, Buffer.from('abcde'))], 'too_long'],
  ['a nested message that is too long', [count, field(6, 6, Buffer.alloc(17))], 'too_long'],
  ['a flag that is reserved', [count, field(9, 1, u64(1n), 2)], 'reserved_not_zero'],
  [
    'more fields than any message has',
    [count, ...Array<Buffer>(limits.fieldsMax).fill(field(999, 5, Buffer.alloc(0)))],
    'too_many_fields',
  ],
])('%s is refused', (_, fields, code) => {
  expect(refusal(...fields)).toBe(code);
});

test('negative integers travel', () => {
  expect(decodeMessage(example, encodeMessage(example, { count: 2, shift: -5, words: [] })).shift).toBe(-5);
});

test('a message that fits no frame is refused, and the next one is not harmed', () => {
  const big = message('big', 'too big', { parts: repeated(name(1, 131071, 'part'), 4) });
  const part = 'x'.repeat(131071);
  expect(() => encodeMessage(big, { parts: [part, part, part] })).toThrow(ProtocolError);
  expect(decodeMessage(big, encodeMessage(big, { parts: [part] })).parts).toEqual([part]);
});
