import { InvalidArgumentError } from 'commander';

/** Collects a repeated option `--label key=value`. The value may be empty and may hold further `=`. */
export function collectKeyValue(
  text: string,
  previous: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write it as key=value.');
  const key = text.slice(0, at);
  if (previous !== undefined && Object.hasOwn(previous, key)) {
    throw new InvalidArgumentError(`\`${key}\` is given twice.`);
  }
  // `__proto__` must become a field like any other, which the server then refuses by name.
  return Object.fromEntries([...Object.entries(previous ?? {}), [key, text.slice(at + 1)]]);
}

/** Collects a repeated option. What its `--no-` form emptied begins anew. */
export function collect(text: string, previous: readonly string[] | false | undefined): string[] {
  return [...(previous || []), text];
}

/** A whole number of at least one. */
/** Nothing is an answer too: at once. */
export function parseSeconds(text: string): number {
  if (!/^(0|[1-9]\d{0,8})$/.test(text)) throw new InvalidArgumentError('It must be a whole number of seconds.');
  return Number(text);
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at least 1.');
  return Number(text);
}
