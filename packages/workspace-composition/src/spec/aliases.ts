import type { Fields } from './fields.ts';
import type { Problems } from './problems.ts';

/** The two places where an aliased field may stand: `field` at the top, `key` in its section. */
export interface Spelling {
  field: string;
  section: Fields | undefined;
  key: string;
}

/**
 * Reads a field in whichever of its two spellings is set. Both set is a conflict at the field's path; the alias is
 * then read too, because its own problems are worth knowing at the same time.
 */
export function readAliased<Value>(
  root: Fields,
  spelling: Spelling,
  read: (fields: Fields, key: string) => Value,
): Value {
  const { field, section, key } = spelling;
  if (!section?.has(key)) return read(root, field);
  if (!root.has(field)) return read(section, key);
  reportConflict(root.problems, root.pathOf(field), [root.pathOf(field), section.pathOf(key)]);
  read(section, key);
  return read(root, field);
}

/** For readers of a single value and its path, whichever object holds it. */
export function readAliasedValue<Value>(
  root: Fields,
  spelling: Spelling,
  read: (value: unknown, path: string) => Value,
): Value {
  return readAliased(root, spelling, (fields, key) => read(fields.raw(key), fields.pathOf(key)));
}

export function reportConflict(problems: Problems, path: string, spellings: readonly string[]): void {
  const all = spellings.map((spelling) => `\`${spelling}\``);
  const named = `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
  problems.add(path, 'conflict', `${named} mean the same, and more than one is set.`, 'Keep one of them.');
}
