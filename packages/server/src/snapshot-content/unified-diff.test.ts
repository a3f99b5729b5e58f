import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lineChanges } from './line-changes.ts';
import { unifiedDiff } from './unified-diff.ts';

const line = fc.constantFrom('a', 'b', 'c', '', '-- x', '@@');
const lines = fc.array(line, { maxLength: 30 });

test('the changes lead from one text to the other', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const result = [...before];
      for (const change of lineChanges(before, after).reverse()) {
        result.splice(
          change.before,
          change.beforeCount,
          ...after.slice(change.after, change.after + change.afterCount),
        );
      }
      expect(result).toEqual(after);
    }),
    { numRuns: 2_000 },
  );
});

test('there are as few of them as there can be', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const changed = lineChanges(before, after).reduce((sum, one) => sum + one.beforeCount + one.afterCount, 0);
      expect(changed).toBe(before.length + after.length - 2 * commonLength(before, after));
    }),
    { numRuns: 500 },
  );
});

function commonLength(a: readonly string[], b: readonly string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const [up, left, corner] = [table[i - 1]?.[j] ?? 0, table[i]?.[j - 1] ?? 0, table[i - 1]?.[j - 1] ?? 0];
      (table[i] as number[])[j] = a[i - 1] === b[j - 1] ? corner + 1 : Math.max(up, left);
    }
  }
  return table[a.length]?.[b.length] ?? 0;
}

test('`patch` makes the one text of the other', () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-diff-'));
  const file = join(folder, 'text');
  const text = fc.tuple(lines, fc.boolean()).map(([all, ends]) => all.join('\n') + (ends ? '\n' : ''));
  try {
    fc.assert(
      fc.property(text, text, (before, after) => {
        fc.pre(before !== '' && after !== '');
        writeFileSync(file, before);
        const diff = unifiedDiff('/text', before, after);
        const { status, stdout } = spawnSync('patch', ['-s', file], { input: diff });
        expect(`${stdout}${status}`).toBe('0');
        expect(readFileSync(file, 'utf8')).toBe(after);
      }),
      { numRuns: 60 },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a file that is only on one side is told as such', () => {
  expect(unifiedDiff('/x', null, 'one\n')).toBe('--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+one\n');
  expect(unifiedDiff('/x', 'one', null)).toBe(
    '--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n\\ No newline at end of file\n',
  );
  expect(unifiedDiff('/x', 'same', 'same')).toBe('');
});

test('texts that have nothing in common are not compared for ever', () => {
  const before = Array.from({ length: 200_000 }, (_, n) => `a${n % 7}`);
  const after = Array.from({ length: 200_000 }, (_, n) => `a${(n * n) % 5}`);
  const begin = performance.now();
  lineChanges(before, after);
  expect(performance.now() - begin).toBeLessThan(15_000);
});

test('a text of very many lines is shown like any other', () => {
  const text = 'x\n'.repeat(300_000);
  const shown = unifiedDiff('/many', null, text);
  expect(shown.split('\n').filter((one) => one === '+x')).toHaveLength(300_000);
});
