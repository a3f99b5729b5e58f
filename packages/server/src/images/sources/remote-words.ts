/** What a stranger says, as a part of a message for people: one short line without anything that moves a cursor. */
const longestWords = 300;

export function remoteWords(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it takes out.
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ').trim();
  return plain.length > longestWords ? `${plain.slice(0, longestWords)}…` : plain;
}
