import { isUtf8 } from 'node:buffer';
import { type Field, type MessageDef, type Value, wireTypeOf } from './field.ts';
import { limits } from './limits.ts';
import { ProtocolError } from './protocol-error.ts';
import { decodeName } from './raw-name.ts';

/**
 * Decodes and validates in one pass. Fields may come in any order; unknown tags are skipped unless marked
 * must-understand. A `bytes` field is a view of the given payload, so it lives as long as that does.
 */
export function decodeMessage<D extends MessageDef>(def: D, payload: Uint8Array): Value<D> {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  return decodeFields(def, bytes, 0, bytes.length) as Value<D>;
}

function decodeFields(def: MessageDef, bytes: Buffer, start: number, end: number): object {
  const values: Record<string, unknown> = {};
  for (const { key, field } of def.byTag.values()) {
    if (field.rule === 'repeated') values[key] = [];
  }
  let at = start;
  let count = 0;
  while (at < end) {
    if (end - at < limits.fieldHeaderBytes) throw new ProtocolError('truncated', def.name);
    count += 1;
    if (count > limits.fieldsMax) throw new ProtocolError('too_many_fields', def.name);
    const tag = bytes.readUInt16LE(at);
    const type = bytes[at + 2] ?? 0;
    const flags = bytes[at + 3] ?? 0;
    const length = bytes.readUInt32LE(at + 4);
    at += limits.fieldHeaderBytes;
    if (flags > 1) throw new ProtocolError('reserved_not_zero', `flags of tag ${tag} in ${def.name}`);
    if (length > end - at) throw new ProtocolError('truncated', `tag ${tag} in ${def.name}`);
    const known = def.byTag.get(tag);
    if (known !== undefined) store(values, def, known, type, bytes, at, length);
    else if (flags === 1) throw new ProtocolError('unknown_critical_field', `tag ${tag} in ${def.name}`);
    at += length;
  }
  for (const { key, field } of def.byTag.values()) {
    if (field.rule === 'required' && !(key in values)) throw new ProtocolError('missing_field', `${def.name}.${key}`);
  }
  return values;
}

function store(
  values: Record<string, unknown>,
  def: MessageDef,
  { key, field }: { readonly key: string; readonly field: Field },
  type: number,
  bytes: Buffer,
  at: number,
  length: number,
): void {
  const where = `${def.name}.${key}`;
  if (type !== wireTypeOf(field.kind)) throw new ProtocolError('wrong_type', where);
  if (field.rule !== 'repeated') {
    if (key in values) throw new ProtocolError('duplicate_field', where);
    values[key] = decodeBody(field, bytes, at, length, where);
    return;
  }
  const items = values[key] as unknown[];
  if (items.length >= field.maxItems) throw new ProtocolError('too_many_items', where);
  items.push(decodeBody(field, bytes, at, length, where));
}

function decodeBody(field: Field, bytes: Buffer, at: number, length: number, where: string): unknown {
  switch (field.kind) {
    case 'uint':
    case 'int':
      return decodeInteger(field, bytes, at, length, where);
    case 'choice': {
      const number = readInteger(bytes, at, length, where);
      for (const choice in field.choices) if (field.choices[choice] === number) return choice;
      throw new ProtocolError('unknown_choice', `${where} ${number}`);
    }
    case 'bool': {
      if (length !== 1) throw new ProtocolError('wrong_length', where);
      const value = bytes[at] ?? 0;
      if (value > 1) throw new ProtocolError('out_of_range', where);
      return value === 1;
    }
    case 'text':
    case 'name':
    case 'bytes':
      return decodeBytes(field, bytes.subarray(at, at + length), where);
    case 'message':
      if (field.message === undefined) throw new Error(`${where} has no definition`);
      if (length > field.max) throw new ProtocolError('too_long', where);
      return decodeFields(field.message, bytes, at, at + length);
  }
}

function decodeInteger(field: Field, bytes: Buffer, at: number, length: number, where: string): number {
  const value = readInteger(bytes, at, length, where);
  if (value < field.min || value > field.max) throw new ProtocolError('out_of_range', where);
  return value;
}

/** Exact within every bound there is: those lie below 2^53, where two's complement and unsigned agree. */
function readInteger(bytes: Buffer, at: number, length: number, where: string): number {
  if (length !== 8) throw new ProtocolError('wrong_length', where);
  return bytes.readInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at);
}

function decodeBytes(field: Field, body: Buffer, where: string): string | Uint8Array {
  if (body.length < field.min || body.length > field.max) {
    throw new ProtocolError('too_long', `${where} of ${body.length} bytes`);
  }
  if (field.kind === 'bytes') return body;
  if (body.includes(0)) throw new ProtocolError('invalid_text', `NUL in ${where}`);
  if (field.kind === 'name') return decodeName(body);
  if (!isUtf8(body)) throw new ProtocolError('invalid_text', where);
  return body.toString('utf8');
}
