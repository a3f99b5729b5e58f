import { type AddressRange, readRange } from './address.ts';
import { readHost } from './host.ts';

/** One entry of `allow` or `deny` as it is decided by. Without a port it means every port. */
export type Entry = EntryPattern & { readonly port?: number };

type EntryPattern =
  | { readonly kind: 'preset'; readonly name: string }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'below'; readonly name: string }
  | { readonly kind: 'range'; readonly range: AddressRange };

/** Reads the canonical form of an entry; undefined for what is none. */
export function readEntry(text: string): Entry | undefined {
  if (text.startsWith('preset:')) return { kind: 'preset', name: text.slice('preset:'.length) };
  const whole = readRange(text);
  if (whole !== undefined) return { kind: 'range', range: whole };
  const [, pattern = text, digits] = /^(.*):([1-9][0-9]{0,4})$/.exec(text) ?? [];
  const read = readPattern(pattern);
  if (read === undefined || digits === undefined) return read;
  const port = Number(digits);
  return port <= 65_535 ? { ...read, port } : undefined;
}

function readPattern(text: string): EntryPattern | undefined {
  const below = text.startsWith('*.');
  const host = readHost(below ? text.slice(2) : text);
  if (host === undefined) return undefined;
  if (host.kind === 'name') return { kind: below ? 'below' : 'name', name: host.name };
  // What is below `localhost` is that address too; below a number there is nothing.
  const range = below && !text.endsWith('localhost') ? undefined : readRange(host.address);
  return range && { kind: 'range', range };
}
