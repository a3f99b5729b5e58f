/** Input is quoted in messages and paths only in short: a problem must not carry a megabyte back to who sent it. */
const maxQuoted = 64;

/** The text with everything unprintable escaped, cut short, between backticks. */
export function quote(text: string): string {
  return `\`${escapeShort(text)}\``;
}

/** The path of `key` below `path`, as a person would write it. */
export function pathOf(path: string, key: string): string {
  const segment = /^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) && key.length <= maxQuoted ? key : `["${escapeShort(key)}"]`;
  if (path === '$') return segment;
  return segment.startsWith('[') ? `${path}${segment}` : `${path}.${segment}`;
}

function escapeShort(text: string): string {
  // A cut through a surrogate pair leaves half a character, which JSON.stringify escapes.
  const short = text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text;
  return JSON.stringify(short).slice(1, -1);
}
