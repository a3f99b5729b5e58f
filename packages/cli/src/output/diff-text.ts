import type { DiffItem, FileDiff, TreeNode } from '@caisson/sdk';
import { bytesText } from './bytes.ts';
import { printable } from './printable.ts';
import type { Screen, Tone } from './screen.ts';

const marks: Readonly<Record<DiffItem['change'], { readonly mark: string; readonly tone: Tone }>> = {
  added: { mark: 'A', tone: 'good' },
  removed: { mark: 'D', tone: 'bad' },
  replaced: { mark: 'T', tone: 'busy' },
  changed: { mark: 'M', tone: 'busy' },
  attributes: { mark: 'P', tone: 'busy' },
};

type Painter = Pick<Screen, 'paint'>;

/** One path: what happened to it, and how large it was and is. */
export function diffLine(screen: Painter, { path, change, before, after }: DiffItem): string {
  const { mark, tone } = marks[change];
  const isFolder = (after ?? before)?.kind === 'folder';
  const detail = detailOf(change, before, after);
  const shown = `${mark}  ${printable(path)}${isFolder ? '/' : ''}`;
  return `${screen.paint(shown, tone)}${detail === '' ? '' : `  ${screen.paint(detail, 'faint')}`}`;
}

function detailOf(change: DiffItem['change'], before: TreeNode | null, after: TreeNode | null): string {
  if (before === null || after === null) return sizeOf(after ?? before);
  if (change === 'replaced') return `${before.kind} → ${after.kind}`;
  if (change === 'changed') return before.kind === 'file' ? `${sizeOf(before)} → ${sizeOf(after)}` : before.kind;
  return [
    before.mode === after.mode ? '' : `${octal(before.mode)} → ${octal(after.mode)}`,
    owner(before) === owner(after) ? '' : `${owner(before)} → ${owner(after)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

function sizeOf(node: TreeNode | null): string {
  if (node?.kind === 'file') return bytesText(node.size);
  return node === null || node.kind === 'folder' ? '' : node.kind;
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
