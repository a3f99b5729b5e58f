import { CaissonError } from '@caisson/contract';

/** `NAME=value`, or `NAME` alone for the value that it has here; one that is not set here is left out. The last wins. */
export function readVariables(
  given: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const entries = given.flatMap((text): [string, string][] => {
    const at = text.indexOf('=');
    const name = at === -1 ? text : text.slice(0, at);
    if (name === '') {
      throw new CaissonError('request_invalid', `${JSON.stringify(text)} is no variable`, {
        hint: 'Write it as NAME=value, or NAME alone for its value here.',
      });
    }
    const value = at === -1 ? env[name] : text.slice(at + 1);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}
