import type { SpecProblemCode } from '../spec-error.ts';
import type { Problems } from './problems.ts';
import { pathOf, quote } from './quote.ts';
import { faultOfFlaws, flawControl, flawsOf, utf8Bytes } from './text.ts';

/**
 * The first look at a raw value: everything that must be known before a field is read, in bounded time.
 *
 * Laws:
 * - The result is a plain copy, read once: what was judged cannot change afterwards, not even behind a proxy.
 * - A value that a shared reference reaches twice counts twice, so an alias bomb ends at the node limit.
 * - A cycle ends at the depth limit. Recursion never goes deeper than that limit, so it cannot exhaust the stack.
 * - A value that was reported is replaced by `reported`; whoever meets it stays silent, so one fault gives one problem.
 */
export const specBounds = {
  /** A blueprint nests 5 deep. Deeper is a mistake; much deeper would cost the stack of every later reader. */
  depth: 32,
  /** The largest sensible spec has a few thousand values. Higher lets an alias bomb run longer. */
  nodes: 20_000,
  /** Below Linux's 128 KiB for one argument, so that a command that passes here can be executed. */
  stringBytes: 64 * 1024,
  /** A spec is stored with every attempt; larger content belongs into the repository. */
  totalStringBytes: 1024 * 1024,
  arrayEntries: 1_000,
  keyBytes: 256,
} as const;

/** Stands in the copy for a value about which a problem has already been reported. */
export const reported: unique symbol = Symbol('reported');

class OutOfBounds extends Error {}

export interface BoundedCopy {
  /** Plain data, or `reported` when nothing of the input can be used. */
  copy: unknown;
  /** The size of all texts and keys together. */
  stringBytes: number;
}

export function boundedCopy(input: unknown, problems: Problems): BoundedCopy {
  const walk = new Walk(problems);
  try {
    const copy = walk.copy(input, 0);
    return { copy, stringBytes: walk.stringBytes };
  } catch (error) {
    if (error instanceof OutOfBounds) return { copy: reported, stringBytes: walk.stringBytes };
    throw error;
  }
}

class Walk {
  stringBytes = 0;
  #problems: Problems;
  #segments: (string | number)[] = [];
  #nodes = 0;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  copy(value: unknown, depth: number): unknown {
    this.#nodes += 1;
    if (this.#nodes > specBounds.nodes) throw this.#tooManyNodes();
    switch (typeof value) {
      case 'string':
        return this.#text(value);
      case 'boolean':
        return value;
      case 'number':
        if (Number.isFinite(value)) return value === 0 ? 0 : value;
        return this.#report('wrong_type', `${value} is not a finite number.`);
      case 'object':
        if (value === null) return null;
        if (depth >= specBounds.depth) {
          throw this.#stop('too_deep', `The spec nests more than ${specBounds.depth} levels deep.`);
        }
        return this.#container(value, depth);
      default:
        return this.#report('wrong_type', `A spec holds plain data, not ${nameOfExotic(typeof value)}.`);
    }
  }

  #text(text: string): unknown {
    const tooLong = text.length > specBounds.stringBytes;
    const bytes = tooLong ? 0 : utf8Bytes(text);
    if (tooLong || bytes > specBounds.stringBytes) {
      return this.#report('too_long', `A text in a spec may be at most ${specBounds.stringBytes} bytes long.`);
    }
    this.#countBytes(bytes);
    const flaws = flawsOf(text);
    const fault = flaws === 0 ? undefined : faultOfFlaws(flaws, true);
    return fault === undefined ? text : this.#report(fault.code, fault.message);
  }

  #container(value: object, depth: number): unknown {
    let keys: readonly string[] | undefined;
    const values: unknown[] = [];
    try {
      if (Array.isArray(value)) {
        const { length } = value;
        if (length > specBounds.arrayEntries) {
          return this.#report('too_many', `A list in a spec may have at most ${specBounds.arrayEntries} entries.`);
        }
        for (let index = 0; index < length; index += 1) values.push(value[index]);
      } else {
        const prototype: unknown = Object.getPrototypeOf(value);
        if (prototype !== Object.prototype && prototype !== null) {
          return this.#report('wrong_type', 'A spec holds plain data, not an instance of a class.');
        }
        keys = Object.keys(value);
        const last = Math.min(keys.length, specBounds.nodes);
        const properties = value as Readonly<Record<string, unknown>>;
        for (let index = 0; index < last; index += 1) values.push(properties[keys[index] ?? '']);
      }
    } catch {
      // Only a getter or a proxy can throw here, and what it throws is as foreign as itself.
      return this.#report('wrong_type', 'A spec holds plain data; this value fails when it is read.');
    }
    if (keys === undefined) return this.#array(values, depth);
    if (keys.length > specBounds.nodes) throw this.#tooManyNodes();
    return this.#object(keys, values, depth);
  }

  #array(entries: readonly unknown[], depth: number): unknown[] {
    const copies: unknown[] = [];
    for (let index = 0; index < entries.length; index += 1) {
      this.#segments.push(index);
      copies.push(this.copy(entries[index], depth + 1));
      this.#segments.pop();
    }
    return copies;
  }

  #object(keys: readonly string[], values: readonly unknown[], depth: number): Record<string, unknown> {
    const copies: Record<string, unknown> = {};
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index] ?? '';
      const value = values[index];
      // A property without a value is how TypeScript spells an absent one.
      if (value === undefined) continue;
      this.#segments.push(key);
      if (this.#acceptsKey(key)) copies[key] = this.copy(value, depth + 1);
      this.#segments.pop();
    }
    return copies;
  }

  #acceptsKey(key: string): boolean {
    if (key === '__proto__') {
      this.#report('forbidden_key', 'The key `__proto__` is not allowed anywhere in a spec.');
      return false;
    }
    const tooLong = key.length > specBounds.keyBytes;
    const bytes = tooLong ? 0 : utf8Bytes(key);
    if (tooLong || bytes > specBounds.keyBytes) {
      this.#report('too_long', `A key may be at most ${specBounds.keyBytes} bytes long; this begins ${quote(key)}.`);
      return false;
    }
    this.#countBytes(bytes);
    const flaws = flawsOf(key);
    if (flaws === 0) return true;
    const fault = faultOfFlaws(flaws, false);
    if (fault === undefined) return true;
    this.#report(fault.code, flaws & flawControl ? 'The key contains a control character.' : fault.message);
    return false;
  }

  #countBytes(bytes: number): void {
    this.stringBytes += bytes;
    if (this.stringBytes > specBounds.totalStringBytes) {
      throw this.#stop('too_large', `The texts of a spec may be at most ${specBounds.totalStringBytes} bytes in all.`);
    }
  }

  #report(code: SpecProblemCode, message: string): typeof reported {
    this.#problems.add(this.#path(), code, message);
    return reported;
  }

  #stop(code: SpecProblemCode, message: string): OutOfBounds {
    this.#problems.add(this.#path(), code, message);
    return new OutOfBounds();
  }

  #tooManyNodes(): OutOfBounds {
    return this.#stop(
      'too_large',
      `A spec may have at most ${specBounds.nodes} values; a repeated reference counts again.`,
    );
  }

  #path(): string {
    let path = '$';
    for (const segment of this.#segments) {
      path = typeof segment === 'number' ? `${path}[${segment}]` : pathOf(path, segment);
    }
    return path;
  }
}

function nameOfExotic(type: string): string {
  return type === 'undefined' ? 'an undefined or missing entry' : `a ${type}`;
}
