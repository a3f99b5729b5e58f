import { expect, test } from 'vitest';
import { guestErrors } from './errors.ts';
import type { MessageDef } from './field.ts';
import { extensionBase, frameTypes } from './frame-types.ts';
import { limits } from './limits.ts';
import { allMessages, methodNames, methods } from './methods.ts';

const unique = (values: readonly unknown[]) => new Set(values).size === values.length;
const fields = [...allMessages.values()].flatMap((def) =>
  Object.entries(def.fields).map(([key, field]) => ({ def, key, field })),
);

/** The most bytes that one value of a message can need, and so the room its frame or field must have. */
function largest(def: MessageDef): number {
  return Object.values(def.fields).reduce((sum, { kind, max, maxItems, message }) => {
    const body = message !== undefined ? Math.min(max, largest(message)) : /uint|int|choice|bool/.test(kind) ? 8 : max;
    return sum + maxItems * (limits.fieldHeaderBytes + body);
  }, 0);
}

test('every number is used once', () => {
  expect(unique(methodNames.map((name) => methods[name].number))).toBe(true);
  expect(unique(Object.values(frameTypes).map(({ code }) => code))).toBe(true);
  expect(unique(Object.values(guestErrors).map(({ code }) => code))).toBe(true);
  expect(unique(Object.values(guestErrors).flatMap(({ errno }) => [...errno]))).toBe(true);
  expect(Object.values(frameTypes).every(({ code }) => code > 0 && code < extensionBase)).toBe(true);
});

test('the numbers of a choice have no gap, so that two bounds describe them', () => {
  for (const { def, key, field } of fields) {
    if (field.choices === undefined) continue;
    const numbers = Object.values(field.choices).sort((a, b) => a - b);
    expect({ in: `${def.name}.${key}`, numbers }).toEqual({
      in: `${def.name}.${key}`,
      numbers: numbers.map((_, index) => index + 1),
    });
  }
});

test('bounds are numbers that JavaScript holds exactly, and tags fit sixteen bits', () => {
  for (const { field } of fields) {
    expect(Number.isSafeInteger(field.min) && Number.isSafeInteger(field.max) && field.min <= field.max).toBe(true);
    expect(field.tag > 0 && field.tag < 0x8000).toBe(true);
  }
});

test('messages nest three deep at most, so that a decoder may recurse', () => {
  const depth = (def: MessageDef): number =>
    1 + Math.max(0, ...Object.values(def.fields).map(({ message }) => (message === undefined ? 0 : depth(message))));
  for (const def of allMessages.values()) expect(depth(def)).toBeLessThanOrEqual(3);
});

test('the bound of a nested message holds the largest value of it', () => {
  for (const { def, key, field } of fields) {
    if (field.message === undefined) continue;
    const name = `${def.name}.${key}`;
    expect({ name, fits: field.max >= largest(field.message) }).toEqual({
      name,
      fits: true,
    });
  }
});

test('one item of a batch fits a record, and a record fits the smallest window', () => {
  for (const name of methodNames) {
    const record: MessageDef | undefined = methods[name].record;
    for (const { max } of Object.values(record?.fields ?? {})) expect(max + 64).toBeLessThanOrEqual(limits.recordMax);
  }
  expect(limits.recordMax).toBeLessThanOrEqual(limits.windowMin);
  expect(limits.windowInitial).toBeLessThan(limits.ringDefault);
});

test('handshake messages fit the handshake bound, and failures their own', () => {
  for (const name of ['hello', 'welcome']) {
    expect(largest(allMessages.get(name) as MessageDef)).toBeLessThanOrEqual(limits.handshakePayloadMax);
  }
  for (const name of ['refuse', 'goaway', 'reset']) {
    expect(largest(allMessages.get(name) as MessageDef)).toBeLessThanOrEqual(limits.resetMax);
  }
});
