/** Longer words are never near a known one; the cap bounds the cost of a hostile key. */
const maxWordLength = 40;

/** The known word that `word` was probably meant to be, or undefined when none is near. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > maxWordLength) return undefined;
  const wanted = fold(word);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const distance = distanceBetween(wanted, fold(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const near = nearest(word, known);
  return near === undefined ? undefined : `did you mean \`${near}\`?`;
}

/** `listen_port`, `listen-port` and `ListenPort` are all the same slip. */
function fold(word: string): string {
  return word.replace(/[_-]/g, '').toLowerCase();
}

/** Infinity unless near: one slip in a short word, two in a longer one, or one word the beginning of the other. */
function distanceBetween(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  const limit = shorter < 5 ? 1 : 2;
  const distance = Math.abs(a.length - b.length) > limit ? Number.POSITIVE_INFINITY : editDistance(a, b);
  if (distance <= limit && distance < shorter) return distance;
  if (shorter >= 3 && (a.startsWith(b) || b.startsWith(a))) return limit + 1;
  return Number.POSITIVE_INFINITY;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        cell(last, column) + 1,
        cell(current, column - 1) + 1,
        cell(last, column - 1) + (same ? 0 : 1),
        swapped ? cell(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return cell(last, b.length);
}

function cell(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
