import { type Field, type MessageDef, type Value, wireTypeOf } from './field.ts';
import { limits } from './limits.ts';
import { ProtocolError } from './protocol-error.ts';
import { encodeName, hasLoneSurrogate } from './raw-name.ts';

/** Shared by all calls: encoding is synchronous and ends by copying its bytes out. */
const scratch = Buffer.alloc(limits.payloadMax);

/**
 * Encodes in the order of the table, so one value has one encoding. What the peer would refuse is refused here first,
 * with the same codes.
 */
export function encodeMessage<D extends MessageDef>(def: D, value: Value<D>): Buffer {
  const end = encodeFields(def, value, 0);
  return Buffer.from(scratch.subarray(0, end));
}

function encodeFields(def: MessageDef, value: object, start: number): number {
  const values = value as Readonly<Record<string, unknown>>;
  let at = start;
  for (const { key, field } of def.byTag.values()) {
    const given = values[key];
    const where = `${def.name}.${key}`;
    if (field.rule === 'repeated') {
      const items = (given ?? []) as readonly unknown[];
      if (items.length > field.maxItems) throw new ProtocolError('too_many_items', where);
      for (const item of items) at = encodeField(field, item, at, where);
    } else if (given !== undefined) {
      at = encodeField(field, given, at, where);
    } else if (field.rule === 'required') {
      throw new ProtocolError('missing_field', where);
    }
  }
  return at;
}

function encodeField(field: Field, value: unknown, at: number, where: string): number {
  const body = at + limits.fieldHeaderBytes;
  if (body + 8 > scratch.length) throw new ProtocolError('too_long', `${where} does not fit a frame`);
  const end = encodeBody(field, value, body, where);
  scratch.writeUInt16LE(field.tag, at);
  scratch.writeUInt8(wireTypeOf(field.kind), at + 2);
  scratch.writeUInt8(field.critical ? 1 : 0, at + 3);
  scratch.writeUInt32LE(end - body, at + 4);
  return end;
}

function encodeBody(field: Field, value: unknown, at: number, where: string): number {
  switch (field.kind) {
    case 'uint':
      return encodeInteger(field, value as number, at, where);
    case 'int':
      return encodeInteger(field, value as number, at, where);
    case 'bool':
      return scratch.writeUInt8(value === true ? 1 : 0, at);
    case 'choice': {
      const number = Object.hasOwn(field.choices ?? {}, value as string) ? field.choices?.[value as string] : undefined;
      if (number === undefined) throw new ProtocolError('unknown_choice', `${where} ${String(value)}`);
      return encodeInteger(field, number, at, where);
    }
    case 'text':
      if (hasLoneSurrogate(value as string)) throw new ProtocolError('invalid_text', where);
      return encodeBytes(field, Buffer.from(value as string, 'utf8'), at, where);
    case 'name':
      return encodeBytes(field, encodeName(value as string), at, where);
    case 'bytes':
      return encodeBytes(field, value as Uint8Array, at, where);
    case 'message': {
      if (field.message === undefined) throw new Error(`${where} has no definition`);
      const end = encodeFields(field.message, value as object, at);
      if (end - at > field.max) throw new ProtocolError('too_long', where);
      return end;
    }
  }
}

function encodeInteger(field: Field, value: number, at: number, where: string): number {
  if (!Number.isSafeInteger(value) || value < field.min || value > field.max) {
    throw new ProtocolError('out_of_range', `${where} ${value}`);
  }
  // In two halves, as a 64-bit number without making one.
  scratch.writeUInt32LE(value >>> 0, at);
  return scratch.writeInt32LE(Math.floor(value / 0x1_0000_0000), at + 4);
}

function encodeBytes(field: Field, value: Uint8Array, at: number, where: string): number {
  if (value.length < field.min || value.length > field.max) {
    throw new ProtocolError('too_long', `${where} of ${value.length} bytes`);
  }
  if (field.kind !== 'bytes' && value.includes(0)) throw new ProtocolError('invalid_text', `NUL in ${where}`);
  if (at + value.length > scratch.length) throw new ProtocolError('too_long', `${where} does not fit a frame`);
  scratch.set(value, at);
  return at + value.length;
}
