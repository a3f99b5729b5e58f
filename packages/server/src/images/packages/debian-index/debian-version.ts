/**
 * The order of Debian's versions: epoch, upstream, revision. A part is compared by turns of text and number; `~` comes
 * before everything, the end included, and letters before other characters.
 */
export function compareDebianVersions(a: string, b: string): number {
  const [first, second] = [splitVersion(a), splitVersion(b)];
  return (
    first.epoch - second.epoch ||
    compareParts(first.upstream, second.upstream) ||
    compareParts(first.revision, second.revision)
  );
}

function splitVersion(version: string): { epoch: number; upstream: string; revision: string } {
  const [, epoch = '0', rest = version] = /^(\d+):(.*)$/.exec(version) ?? [];
  const dash = rest.lastIndexOf('-');
  if (dash === -1) return { epoch: Number(epoch), upstream: rest, revision: '' };
  return { epoch: Number(epoch), upstream: rest.slice(0, dash), revision: rest.slice(dash + 1) };
}

function compareParts(a: string, b: string): number {
  let [left, right] = [a, b];
  while (left !== '' || right !== '') {
    const [leftText = '', rightText = ''] = [/^\D*/.exec(left)?.[0], /^\D*/.exec(right)?.[0]];
    const text = compareText(leftText, rightText);
    if (text !== 0) return text;
    left = left.slice(leftText.length);
    right = right.slice(rightText.length);
    const [leftDigits = '', rightDigits = ''] = [/^\d*/.exec(left)?.[0], /^\d*/.exec(right)?.[0]];
    const number = compareDigits(leftDigits, rightDigits);
    if (number !== 0) return number;
    left = left.slice(leftDigits.length);
    right = right.slice(rightDigits.length);
  }
  return 0;
}

function compareText(a: string, b: string): number {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = weight(a[at]) - weight(b[at]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function weight(char: string | undefined): number {
  if (char === '~') return -1;
  if (char === undefined) return 0;
  return /[A-Za-z]/.test(char) ? char.charCodeAt(0) : char.charCodeAt(0) + 256;
}

/** As text, because a version may have more digits than a number. */
function compareDigits(a: string, b: string): number {
  const [left, right] = [a.replace(/^0+/, ''), b.replace(/^0+/, '')];
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}
