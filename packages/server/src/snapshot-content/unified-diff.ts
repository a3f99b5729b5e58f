import { type LineChange, lineChanges } from './line-changes.ts';

/** As `diff -u` has it: enough to find the place again, also by a program. */
const contextLines = 3;

/** Two texts as `diff -u` shows them; empty when they are equal. */
export function unifiedDiff(path: string, before: string | null, after: string | null): string {
  const [a, b] = [linesOf(before ?? ''), linesOf(after ?? '')];
  const hunks = hunksOf(lineChanges(a, b));
  if (hunks.length === 0) return '';
  const heads = [
    `--- ${before === null ? '/dev/null' : `a${path}`}`,
    `+++ ${after === null ? '/dev/null' : `b${path}`}`,
  ];
  return `${[...heads, ...hunks.flatMap((hunk) => hunkLines(hunk, a, b))].join('\n')}\n`;
}

/** Each with its line break, so that a last line without one is another line. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Changes whose context would meet are shown together. */
function hunksOf(changes: readonly LineChange[]): LineChange[][] {
  const hunks: LineChange[][] = [];
  for (const change of changes) {
    const last = hunks.at(-1)?.at(-1);
    if (last && change.before - (last.before + last.beforeCount) <= 2 * contextLines) hunks.at(-1)?.push(change);
    else hunks.push([change]);
  }
  return hunks;
}

function hunkLines(hunk: readonly LineChange[], a: readonly string[], b: readonly string[]): string[] {
  const [first, last] = [hunk[0], hunk.at(-1)];
  if (!first || !last) return [];
  const lead = Math.min(contextLines, first.before);
  const trail = Math.min(contextLines, a.length - (last.before + last.beforeCount));
  const begin = { before: first.before - lead, after: first.after - lead };
  const counts = {
    before: last.before + last.beforeCount + trail - begin.before,
    after: last.after + last.afterCount + trail - begin.after,
  };
  const parts: string[][] = [];
  let at = begin.before;
  for (const { before, beforeCount, after, afterCount } of hunk) {
    parts.push(shown(' ', a.slice(at, before)));
    parts.push(shown('-', a.slice(before, before + beforeCount)));
    parts.push(shown('+', b.slice(after, after + afterCount)));
    at = before + beforeCount;
  }
  parts.push(shown(' ', a.slice(at, at + trail)));
  // Not by spreading: a call takes so many arguments and no more.
  return [
    [`@@ -${rangeText(begin.before, counts.before)} +${rangeText(begin.after, counts.after)} @@`],
    ...parts,
  ].flat();
}

/** Lines count from one; an empty range is named by the line before it. */
function rangeText(begin: number, count: number): string {
  if (count === 1) return String(begin + 1);
  return `${count === 0 ? begin : begin + 1},${count}`;
}

function shown(mark: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith('\n') ? [mark + line.slice(0, -1)] : [mark + line, '\\ No newline at end of file'],
  );
}
