import { validateHeaderName, validateHeaderValue } from 'node:http';

export type Fields = (readonly [name: string, value: string])[];

/** How the end of a body is known. */
export type Framing = 'none' | 'length' | 'chunked';

/** Fields between two neighbours, which a proxy does not pass on. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);
/** Without these a message is another one: no Connection field takes them away. */
const lasting = new Set(['host', 'content-length', 'content-type', 'authorization', 'cookie', 'set-cookie', 'trailer']);

/** Names and values as pairs, out of the flat list in which Node keeps them. */
export function pairsOf(raw: readonly string[]): Fields {
  const pairs: Fields = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] as string, raw[at + 1] as string]);
  return pairs;
}

export function valuesOf(fields: Fields, name: string): string[] {
  return fields.flatMap(([key, value]) => (key.toLowerCase() === name ? [value] : []));
}

/** What is passed on of a message's fields, in its order. Framing is decided and written by whoever sends it. */
export function passedOn(fields: Fields): Fields {
  const named = new Set<string>();
  for (const value of valuesOf(fields, 'connection'))
    for (const token of value.toLowerCase().split(',')) named.add(token.trim());
  return fields.filter(([name]) => {
    const key = name.toLowerCase();
    return !hopByHop.has(key) && !key.startsWith('proxy-') && (!named.has(key) || lasting.has(key));
  });
}

/**
 * How the body of a request is delimited, or undefined when that is open to more than one reading. The parser has refused
 * the worst; this holds whatever it lets through.
 */
export function framingOf(fields: Fields, version: string): Framing | undefined {
  const lengths = valuesOf(fields, 'content-length');
  const codings = valuesOf(fields, 'transfer-encoding');
  if (codings.length > 0) {
    const isPlain = codings.length === 1 && codings[0]?.trim().toLowerCase() === 'chunked';
    return isPlain && lengths.length === 0 && version === '1.1' ? 'chunked' : undefined;
  }
  if (lengths.length === 0) return 'none';
  return lengths.length === 1 && /^[0-9]{1,16}$/.test(lengths[0] ?? '') ? 'length' : undefined;
}

/** Whether they can be written without meaning something else: no line ends, no NUL, names that are words. */
export function areWritable(fields: Fields): boolean {
  try {
    for (const [name, value] of fields) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return true;
  } catch {
    return false;
  }
}

/** About how many bytes they take. */
export function sizeOf(fields: Fields): number {
  let size = 2;
  for (const [name, value] of fields) size += name.length + value.length + 4;
  return size;
}
