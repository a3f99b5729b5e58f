// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it replaces.
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Text from elsewhere on one line: what would move the cursor or colour the terminal is written out. */
export function printable(text: string): string {
  return text.replace(control, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** The same for text of several lines. */
export function printableLines(text: string): string[] {
  return text.split(/\r?\n/).map(printable);
}
