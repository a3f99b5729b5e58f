/** Deeper than anything we digest; ends a cycle with an error instead of an exhausted stack. */
const maxDepth = 64;

/**
 * The one JSON text of a value: keys in code unit order, no white space, numbers as ECMAScript prints them (`-0` is
 * `0`). Throws `TypeError` for anything that JSON cannot say exactly, rather than say something else: `undefined`,
 * `NaN`, infinities, half surrogate pairs, holes in lists, and every object that is not plain.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return writeText(value);
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`${value} has no canonical JSON`);
      return JSON.stringify(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      if (depth >= maxDepth) throw new TypeError('A value nested this deep has no canonical JSON');
      return Array.isArray(value) ? writeList(value, depth) : writeObject(value, depth);
    default:
      throw new TypeError(`A value of type ${typeof value} has no canonical JSON`);
  }
}

function writeText(text: string): string {
  if (/\p{Surrogate}/u.test(text)) throw new TypeError('A text with half a surrogate pair has no canonical JSON');
  return JSON.stringify(text);
}

function writeList(list: readonly unknown[], depth: number): string {
  const entries: string[] = [];
  for (let index = 0; index < list.length; index += 1) entries.push(write(list[index], depth + 1));
  return `[${entries.join(',')}]`;
}

function writeObject(value: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError('An instance of a class has no canonical JSON');
  }
  const properties = value as Readonly<Record<string, unknown>>;
  const entries = Object.keys(value)
    .sort()
    .map((key) => `${writeText(key)}:${write(properties[key], depth + 1)}`);
  return `{${entries.join(',')}}`;
}
