import type { DiffItem, FileDiff, TreeNode } from '@caisson/sdk';
import { bytesText } from './bytes.ts';
import { printable } from './printable.ts';
import type { Screen, Tone } from './screen.ts';

const tones: Readonly<Record<DiffItem['change'], Tone>> = {
  added: 'good',
  removed: 'bad',
  replaced: 'busy',
  changed: 'busy',
  attributes: 'busy',
};

type Painter = Pick<Screen, 'paint'>;

/** Each path on a line: what happened to it, what it is, and how large it was and is. */
export function diffText(screen: Painter, items: readonly DiffItem[]): string {
  const kindOf = ({ before, after }: DiffItem) => (after ?? before)?.kind ?? '';
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(({ length }) => length));
  const changeWidth = widest(items.map(({ change }) => change));
  const kindWidth = widest(items.map(kindOf));
  return items
    .map((item) => {
      const detail = detailOf(item.change, item.before, item.after);
      const head = `${item.change.padEnd(changeWidth)}  ${kindOf(item).padEnd(kindWidth)}  ${printable(item.path)}`;
      return `${screen.paint(head, tones[item.change])}${detail === '' ? '' : `  ${screen.paint(detail, 'faint')}`}`;
    })
    .join('\n');
}

function detailOf(change: DiffItem['change'], before: TreeNode | null, after: TreeNode | null): string {
  if (before === null || after === null) return sizeOf(after ?? before);
  if (change === 'replaced') return `${before.kind} → ${after.kind}`;
  if (change === 'changed') return before.kind === 'file' ? `${sizeOf(before)} → ${sizeOf(after)}` : '';
  return [
    before.mode === after.mode ? '' : `${octal(before.mode)} → ${octal(after.mode)}`,
    owner(before) === owner(after) ? '' : `${owner(before)} → ${owner(after)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

function sizeOf(node: TreeNode | null): string {
  return node?.kind === 'file' ? bytesText(node.size) : '';
}

const octal = (mode: number) => mode.toString(8).padStart(3, '0');
const owner = ({ uid, gid }: TreeNode) => `${uid}:${gid}`;

/** `3 paths differ: 1 added, 2 changed`. */
export function diffSummary(items: readonly Pick<DiffItem, 'change'>[]): string {
  if (items.length === 0) return 'nothing differs';
  const counts = new Map<string, number>();
  for (const { change } of items) counts.set(change, (counts.get(change) ?? 0) + 1);
  const parts = [...counts].map(([change, count]) => `${count} ${change}`);
  return `${items.length} ${items.length === 1 ? 'path differs' : 'paths differ'}: ${parts.join(', ')}`;
}

/** A file's lines in the colours that everybody knows, or why there are none. */
export function fileDiffText(screen: Painter, { path, form, text, before, after }: FileDiff): string {
  if (form === 'equal') return `${printable(path)} does not differ`;
  if (text === null) {
    const sizes = [before, after].map((node) => (node === null ? 'nothing' : sizeOf(node) || node.kind)).join(' → ');
    const why = form === 'binary' ? 'is binary' : 'cannot be shown line by line';
    return `${printable(path)} differs and ${why}: ${sizes}`;
  }
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => screen.paint(printable(line.replaceAll('\t', '    ')), toneOf(line)))
    .join('\n');
}

function toneOf(line: string): Tone | undefined {
  if (/^(---|\+\+\+|@@|\\)/.test(line)) return 'faint';
  if (line.startsWith('+')) return 'good';
  return line.startsWith('-') ? 'bad' : undefined;
}
