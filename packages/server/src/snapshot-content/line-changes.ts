/** A run of lines that differs: so many from a place before, in place of so many from a place after. */
export interface LineChange {
  readonly before: number;
  readonly beforeCount: number;
  readonly after: number;
  readonly afterCount: number;
}

/**
 * What is compared at most before the rest counts as replaced as a whole. It is a tenth of a second; the server does
 * nothing else meanwhile.
 */
const maxSteps = 5_000_000;

/**
 * The fewest lines to remove and add to get from one text to the other, by Myers' algorithm: the furthest line that each
 * number of changes can reach on each diagonal, until one reaches the end. Written by hand: it is sixty lines, and a
 * library would not be bounded in time.
 */
export function lineChanges(before: readonly string[], after: readonly string[]): LineChange[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const room = Math.min(before.length, after.length) - head;
  while (tail < room && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const [a, b] = [before.slice(head, before.length - tail), after.slice(head, after.length - tail)];
  if (a.length === 0 && b.length === 0) return [];
  const whole = [{ before: head, beforeCount: a.length, after: head, afterCount: b.length }];
  if (a.length === 0 || b.length === 0) return whole;
  const rounds = furthestReached(...numbered(a, b));
  if (rounds === undefined) return whole;
  return joined(wayBack(rounds, a.length, b.length)).map((change) => ({
    ...change,
    before: change.before + head,
    after: change.after + head,
  }));
}

/** Lines as numbers: they are compared millions of times. */
function numbered(a: readonly string[], b: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const numberOf = (line: string) => {
    const known = numbers.get(line) ?? numbers.size;
    numbers.set(line, known);
    return known;
  };
  return [Int32Array.from(a, numberOf), Int32Array.from(b, numberOf)];
}

/** For each number of changes the line of `a` reached on the diagonals -d, -d + 2, … d; undefined when it takes too long. */
function furthestReached(a: Int32Array, b: Int32Array): Int32Array[] | undefined {
  const rounds: Int32Array[] = [];
  let steps = 0;
  for (let d = 0; ; d += 1) {
    const last = rounds.at(-1);
    const reached = new Int32Array(d + 1);
    for (let i = 0; i <= d; i += 1) {
      const k = 2 * i - d;
      // From the diagonal above by adding a line, or from the one below by removing one: whichever is further.
      const added = last && i < d ? (last[i] ?? -1) : -1;
      const removed = last && i > 0 ? (last[i - 1] ?? -1) + 1 : -1;
      let x = d === 0 ? 0 : Math.max(added, removed);
      const from = x;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      steps += x - from + 1;
      reached[i] = x;
      if (x >= a.length && x - k >= b.length) {
        rounds.push(reached);
        return rounds;
      }
    }
    if (steps > maxSteps) return undefined;
    rounds.push(reached);
  }
}

/** One change for each line that is removed or added, from the last to the first. */
function wayBack(rounds: readonly Int32Array[], aLength: number, bLength: number): LineChange[] {
  const changes: LineChange[] = [];
  let k = aLength - bLength;
  for (let d = rounds.length - 1; d > 0; d -= 1) {
    const last = rounds[d - 1] as Int32Array;
    const i = (k + d) / 2;
    const added = i < d ? (last[i] ?? -1) : -1;
    const removed = i > 0 ? (last[i - 1] ?? -1) + 1 : -1;
    if (added >= removed) {
      changes.push({ before: added, beforeCount: 0, after: added - k - 1, afterCount: 1 });
      k += 1;
    } else {
      changes.push({ before: removed - 1, beforeCount: 1, after: removed - k, afterCount: 0 });
      k -= 1;
    }
  }
  return changes.reverse();
}

function joined(changes: readonly LineChange[]): LineChange[] {
  const runs: LineChange[] = [];
  for (const change of changes) {
    const last = runs.at(-1);
    if (last && last.before + last.beforeCount === change.before && last.after + last.afterCount === change.after) {
      const beforeCount = last.beforeCount + change.beforeCount;
      runs[runs.length - 1] = { ...last, beforeCount, afterCount: last.afterCount + change.afterCount };
    } else runs.push(change);
  }
  return runs;
}
