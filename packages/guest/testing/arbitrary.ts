import fc from 'fast-check';
import type { Field, MessageDef, Value } from '../src/protocol/field.ts';
import { decodeName } from '../src/protocol/raw-name.ts';

/** Values of any message, derived from its definition: every bound is reached, every optional field both ways. */
export function messageArbitrary<D extends MessageDef>(def: D): fc.Arbitrary<Value<D>> {
  const required: Record<string, fc.Arbitrary<unknown>> = {};
  const optional: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [key, field] of Object.entries(def.fields)) {
    const one = fieldArbitrary(field);
    if (field.rule === 'optional') optional[key] = one;
    else required[key] = field.rule === 'repeated' ? fc.array(one, { maxLength: Math.min(field.maxItems, 4) }) : one;
  }
  const shape = fc.tuple(fc.record(required), fc.record(optional, { requiredKeys: [] }));
  return shape.map(([must, may]) => ({ ...must, ...may })) as unknown as fc.Arbitrary<Value<D>>;
}

/** Keeps one field short, so that a message of many fields still fits a frame. */
const longest = 600;

function fieldArbitrary(field: Field): fc.Arbitrary<unknown> {
  const size = { minLength: field.min, maxLength: Math.min(field.max, Math.max(field.min, longest)) };
  switch (field.kind) {
    case 'uint':
    case 'int':
      return fc.oneof(
        fc.constantFrom(field.min, field.max),
        fc.maxSafeInteger().map((n) => field.min + (Math.abs(n) % (field.max - field.min + 1))),
      );
    case 'bool':
      return fc.boolean();
    case 'choice':
      return fc.constantFrom(...Object.keys(field.choices ?? {}));
    case 'text':
      return fc
        .string({ unit: 'binary', minLength: field.min, maxLength: size.maxLength })
        .map((s) => s.replaceAll('\0', '·'))
        .filter((s) => Buffer.byteLength(s) <= field.max && Buffer.byteLength(s) >= field.min);
    case 'name':
      return fc.uint8Array(size).map((bytes) => decodeName(bytes.map((byte) => byte || 0xff)));
    case 'bytes':
      return fc.uint8Array(size).map((bytes) => Buffer.from(bytes));
    case 'message':
      return field.message === undefined ? fc.constant(undefined) : messageArbitrary(field.message);
  }
}
