import { guestErrors } from './errors.ts';
import { type MessageDef, wireTypeOf, wireTypes } from './field.ts';
import { extensionBase, frameTypes } from './frame-types.ts';
import { limitTable } from './limits.ts';
import { allMessages, methodNames, methods } from './methods.ts';
import { violations } from './protocol-error.ts';

/**
 * The C header of the guest, from the same tables. `native/protocol.h` is its checked-in output; a test compares them.
 * A message is an array of descriptors, so that the C decoder is one loop over a table and not a function a message.
 */
export function renderHeader(): string {
  return [
    '/* Generated from packages/guest/src/protocol by renderHeader(); do not edit. */',
    '#ifndef CAISSON_PROTOCOL_H',
    '#define CAISSON_PROTOCOL_H',
    '',
    '#include <stddef.h>',
    '#include <stdint.h>',
    '',
    ...Object.entries(limitTable).map(([name, { value }]) => define(`LIMIT_${name}`, `${value}`)),
    '',
    define('frame_extension_base', hex(extensionBase)),
    ...Object.entries(frameTypes).map(([name, { code }]) => define(`FRAME_${name}`, hex(code))),
    '',
    ...Object.entries(wireTypes).map(([name, code]) => define(`WIRE_${name}`, `${code}`)),
    '',
    ...Object.entries(guestErrors).map(([name, { code }]) => define(`ERROR_${name}`, `${code}`)),
    '',
    ...Object.keys(violations).map((name, index) => define(`VIOLATION_${name}`, `${index + 1}`)),
    '',
    ...methodNames.map((name) => define(`METHOD_${name}`, hex(methods[name].number, 4))),
    '',
    ...descriptorTypes,
    '',
    ...[...allMessages.values()].flatMap(renderMessage),
    'static const struct caisson_method caisson_methods[] = {',
    ...methodNames.map(renderMethod),
    '};',
    '',
    '#endif',
    '',
  ].join('\n');
}

const descriptorTypes = [
  'enum { CAISSON_REQUIRED = 0, CAISSON_OPTIONAL = 1, CAISSON_REPEATED = 2 };',
  'enum { CAISSON_ALONE = 0, CAISSON_FIRST = 1, CAISSON_LAST = 2 };',
  'enum { CAISSON_NONE = 0, CAISSON_BYTES = 1, CAISSON_RECORDS = 2 };',
  '',
  '/* A name is bytes without NUL; a choice has every number from min to max. */',
  'enum { CAISSON_PLAIN = 0, CAISSON_NAME = 1, CAISSON_CHOICE = 2 };',
  '/* min and max bound the value of an integer and the length of anything else. */',
  'struct caisson_message;',
  'struct caisson_field {',
  '  uint16_t tag;',
  '  uint8_t wire, rule, critical, kind;',
  '  uint32_t max_items;',
  '  int64_t min, max;',
  '  const struct caisson_message *message;',
  '};',
  'struct caisson_message {',
  '  const char *name;',
  '  const struct caisson_field *fields;',
  '  size_t count;',
  '};',
  'struct caisson_method {',
  '  uint16_t number;',
  '  uint8_t guest_opens, input, output, answer;',
  '  const struct caisson_message *params, *record, *result;',
  '};',
];

export function renderMessage(def: MessageDef): string[] {
  const fields = Object.entries(def.fields);
  const lines: string[] = [];
  for (const [key, { tag, choices }] of fields) {
    lines.push(define(`TAG_${def.name}_${key}`, `${tag}`));
    for (const [choice, number] of Object.entries(choices ?? {})) {
      // The codes of a reset are already there as CAISSON_ERROR_.
      if (def.name !== 'reset') lines.push(define(`${def.name}_${key}_${choice}`, `${number}`));
    }
  }
  if (fields.length > 0) {
    lines.push(`static const struct caisson_field caisson_fields_${def.name}[] = {`);
    for (const [, field] of fields) {
      const rule = field.rule.toUpperCase();
      const child = field.message === undefined ? 'NULL' : `&caisson_message_${field.message.name}`;
      const kind = field.kind === 'name' ? 'NAME' : field.kind === 'choice' ? 'CHOICE' : 'PLAIN';
      lines.push(
        `  {${field.tag}, ${wireTypeOf(field.kind)}, CAISSON_${rule}, ${field.critical ? 1 : 0}, CAISSON_${kind}, ${field.maxItems}, ${field.min}, ${field.max}, ${child}},`,
      );
    }
    lines.push('};');
  }
  const list = fields.length > 0 ? `caisson_fields_${def.name}` : 'NULL';
  lines.push(
    `static const struct caisson_message caisson_message_${def.name} = {"${def.name}", ${list}, ${fields.length}};`,
    '',
  );
  return lines;
}

function renderMethod(name: (typeof methodNames)[number]): string {
  const { number, opener, input, output, answer, params, record, result } = methods[name];
  const reference = (def: MessageDef | undefined) => (def === undefined ? 'NULL' : `&caisson_message_${def.name}`);
  const flags = `${opener === 'guest' ? 1 : 0}, ${input ? 1 : 0}, CAISSON_${output.toUpperCase()}, CAISSON_${answer.toUpperCase()}`;
  return `  {${hex(number, 4)}, ${flags}, ${reference(params)}, ${reference(record)}, ${reference(result)}},`;
}

export function define(name: string, value: string): string {
  const constant = name.replaceAll('.', '_').replace(/([a-z0-9])([A-Z])/g, '$1_$2');
  return `#define CAISSON_${constant.toUpperCase()} ${value}`;
}

function hex(value: number, digits = 2): string {
  return `0x${value.toString(16).padStart(digits, '0')}`;
}
