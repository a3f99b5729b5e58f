import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type IdKind, idPrefixes, idSchema, isId, newId } from './ids.ts';

const kinds = Object.keys(idPrefixes) as IdKind[];

test('a new id of every kind has its prefix and is valid in a DNS label', () => {
  for (const kind of kinds) {
    const id = newId(kind);
    expect(id).toMatch(new RegExp(`^${idPrefixes[kind]}[a-z0-9]{20}$`));
    expect(idSchema(kind).parse(id)).toBe(id);
  }
});

test('no two kinds share a prefix', () => {
  expect(new Set(Object.values(idPrefixes)).size).toBe(kinds.length);
});

test('an id of one kind is not an id of another', () => {
  for (const kind of kinds) for (const other of kinds) expect(isId(other, newId(kind))).toBe(kind === other);
});

test('a hundred thousand ids made at the same moment are all different', () => {
  const ids = new Set<string>();
  for (let n = 0; n < 100_000; n += 1) ids.add(newId('sandbox', 1_700_000_000_000));
  expect(ids.size).toBe(100_000);
});

test('ids made later sort later', () => {
  fc.assert(
    fc.property(fc.nat(4_000_000_000_000), fc.integer({ min: 1, max: 1e9 }), (now, step) => {
      expect(newId('event', now) < newId('event', now + step)).toBe(true);
    }),
  );
});

test('the random part uses every character of its alphabet about equally often', () => {
  const seen = new Map<string, number>();
  for (let n = 0; n < 20_000; n += 1) {
    for (const char of newId('job', 0).slice(12)) seen.set(char, (seen.get(char) ?? 0) + 1);
  }
  const expected = (20_000 * 11) / 36;
  expect(seen.size).toBe(36);
  for (const count of seen.values()) expect(Math.abs(count - expected)).toBeLessThan(expected * 0.1);
});

test.each([
  '',
  'sbx',
  'sbx0123456789012345678',
  'SBX01234567890123456789',
  'sbx0123456789012345678_',
  'sbx01234567890123456789\n',
])('refuses %j as a sandbox id', (value) => {
  expect(isId('sandbox', value)).toBe(false);
  expect(idSchema('sandbox').safeParse(value).success).toBe(false);
});
