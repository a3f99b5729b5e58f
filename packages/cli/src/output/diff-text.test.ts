import type { DiffItem, TreeNode } from '@caisson/sdk';
import { expect, test } from 'vitest';
import { diffSummary, diffText, fileDiffText } from './diff-text.ts';

const plain = { paint: (text: string) => text };
const toned = { paint: (text: string, tone: string | undefined) => (tone ? `<${tone}>${text}` : text) };
const file = (size: number, more: Partial<TreeNode> = {}): TreeNode => {
  return { kind: 'file', size, mode: 0o644, uid: 0, gid: 0, ...more };
};
const items: DiffItem[] = [
  { path: '/etc/hosts', change: 'attributes', before: file(3), after: file(3, { mode: 0o600, uid: 7 }) },
  { path: '/work', change: 'added', before: null, after: file(4096, { kind: 'folder' }) },
  { path: '/work/a\u001b[2J', change: 'changed', before: file(4), after: file(2048) },
  { path: '/work/b', change: 'replaced', before: file(4), after: file(1, { kind: 'link' }) },
];

test('each path is one line that says what happened, and none of them moves the cursor', () => {
  expect(diffText(plain, items).split('\n')).toEqual([
    'attributes  file    /etc/hosts  644 → 600, 0:0 → 7:0',
    'added       folder  /work',
    'changed     file    /work/a\\x1b[2J  4 B → 2.0 KiB',
    'replaced    link    /work/b  file → link',
  ]);
  expect(diffSummary(items)).toBe('4 paths differ: 1 attributes, 1 added, 1 changed, 1 replaced');
  expect(diffSummary([])).toBe('nothing differs');
});

test('a file is shown in the colours of a diff, or with why it is not', () => {
  const of = { path: '/a', before: file(4), after: file(5) };
  const text = '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+\u001b[31mtwo\n same\n';
  expect(fileDiffText(toned, { ...of, form: 'text', text }).split('\n')).toEqual([
    '<faint>--- a/a',
    '<faint>+++ b/a',
    '<faint>@@ -1 +1 @@',
    '<bad>-one',
    '<good>+\\x1b[31mtwo',
    ' same',
  ]);
  expect(fileDiffText(plain, { ...of, form: 'binary', text: null })).toBe('/a differs and is binary: 4 B → 5 B');
  expect(fileDiffText(plain, { ...of, form: 'equal', text: null })).toBe('/a does not differ');
});
