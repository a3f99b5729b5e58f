import { reported, specBounds } from './bounds.ts';
import { didYouMean, nearest } from './did-you-mean.ts';
import type { Problems } from './problems.ts';
import { pathOf, quote } from './quote.ts';
import { isInRange, type NumberRule, rangeMessage } from './ranges.ts';
import { faultOfText, type TextRule } from './text.ts';
import { reportWrongType } from './wrong-type.ts';

/** The keys an object may have. `noun` completes the sentence "… is not a key of …". */
export interface Shape {
  noun: string;
  keys: ReadonlySet<string>;
}

export function shape(noun: string, ...keys: string[]): Shape {
  return { noun, keys: new Set(keys) };
}

/**
 * Reads one object of the bounded copy, field by field. Every reader returns the value, or undefined after reporting
 * why there is none; the caller may go on with a placeholder, because a spec with a problem never becomes a blueprint.
 */
export class Fields {
  readonly path: string;
  readonly problems: Problems;
  #value: Readonly<Record<string, unknown>>;
  #meant: Set<string> | undefined;

  /** Undefined after reporting, when `value` is not an object. Unknown keys are reported at once. */
  static of(value: unknown, path: string, expected: Shape, problems: Problems): Fields | undefined {
    if (value === undefined || value === reported) return undefined;
    if (!isObject(value)) {
      reportWrongType(problems, path, value, 'an object');
      return undefined;
    }
    return new Fields(value, path, expected, problems);
  }

  private constructor(value: Readonly<Record<string, unknown>>, path: string, expected: Shape, problems: Problems) {
    this.#value = value;
    this.path = path;
    this.problems = problems;
    for (const key of Object.keys(value)) {
      if (!expected.keys.has(key)) this.#reportUnknown(key, expected);
    }
  }

  pathOf(key: string): string {
    return pathOf(this.path, key);
  }

  has(key: string): boolean {
    return this.#value[key] !== undefined;
  }

  /** The raw value: undefined when absent, possibly `reported`. */
  raw(key: string): unknown {
    return this.#value[key];
  }

  text(key: string, rule: TextRule): string | undefined {
    return this.has(key) ? readText(this.#value[key], this.pathOf(key), rule, this.problems) : undefined;
  }

  choice<Choice extends string>(key: string, choices: readonly Choice[]): Choice | undefined {
    return this.has(key) ? readChoice(this.#value[key], this.pathOf(key), choices, this.problems) : undefined;
  }

  flag(key: string): boolean | undefined {
    const value = this.#value[key];
    if (value === undefined || value === reported || typeof value === 'boolean') return asOwn(value);
    reportWrongType(this.problems, this.pathOf(key), value, 'true or false');
    return undefined;
  }

  number(key: string, rule: NumberRule): number | undefined {
    const value = this.#value[key];
    if (value === undefined || value === reported) return undefined;
    if (typeof value !== 'number') reportWrongType(this.problems, this.pathOf(key), value, 'a number');
    else if (!isInRange(rule, value)) this.problems.add(this.pathOf(key), 'out_of_range', rangeMessage(rule));
    else return value;
    return undefined;
  }

  /** The entries of a list field with their paths; none when absent or not a list. */
  list<Item>(key: string, read: (value: unknown, path: string) => Item | undefined, maxEntries?: number): Item[] {
    return this.has(key) ? readList(this.#value[key], this.pathOf(key), read, this.problems, maxEntries) : [];
  }

  /** Reports a missing key, unless a misspelt key was evidently meant to be it. */
  require(key: string, message: string, hint?: string): void {
    if (!this.has(key) && !this.meant(key)) this.problems.add(this.pathOf(key), 'required', message, hint);
  }

  /** Whether an unknown key of this object was evidently meant to be `key`. */
  meant(key: string): boolean {
    return this.#meant?.has(key) === true;
  }

  #reportUnknown(key: string, expected: Shape): void {
    const near = this.problems.full ? undefined : nearest(key, expected.keys);
    if (near !== undefined) {
      this.#meant ??= new Set();
      this.#meant.add(near);
    }
    const hint = near === undefined ? undefined : `did you mean \`${near}\`?`;
    this.problems.add(this.pathOf(key), 'unknown_key', `${quote(key)} is not a key of ${expected.noun}.`, hint);
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readText(value: unknown, path: string, rule: TextRule, problems: Problems): string | undefined {
  if (value === reported) return undefined;
  if (typeof value !== 'string') {
    reportWrongType(problems, path, value, 'a string');
    return undefined;
  }
  const fault = faultOfText(rule, value);
  if (fault === undefined) return rule.canonical === undefined ? value : rule.canonical(value);
  problems.addFault(path, fault);
  return undefined;
}

export function readChoice<Choice extends string>(
  value: unknown,
  path: string,
  choices: readonly Choice[],
  problems: Problems,
): Choice | undefined {
  if (value === reported) return undefined;
  if (typeof value !== 'string') {
    reportWrongType(problems, path, value, 'a string');
    return undefined;
  }
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) {
    const allowed = choices.map((candidate) => `\`${candidate}\``).join(', ');
    problems.add(path, 'invalid_value', `${quote(value)} is not one of ${allowed}.`, didYouMean(value, choices));
  }
  return choice;
}

export function readList<Item>(
  value: unknown,
  path: string,
  read: (value: unknown, path: string) => Item | undefined,
  problems: Problems,
  maxEntries: number = specBounds.arrayEntries,
): Item[] {
  const items: Item[] = [];
  if (value === reported) return items;
  if (!Array.isArray(value)) {
    reportWrongType(problems, path, value, 'a list');
    return items;
  }
  if (value.length > maxEntries) {
    problems.add(path, 'too_many', `At most ${maxEntries} entries are allowed here, found ${value.length}.`);
    return items;
  }
  for (let index = 0; index < value.length; index += 1) {
    const item = read(value[index], `${path}[${index}]`);
    if (item !== undefined) items.push(item);
  }
  return items;
}

function asOwn(value: boolean | undefined | typeof reported): boolean | undefined {
  return value === reported ? undefined : value;
}
