import type { Sandbox, Snapshot } from '@caisson/contract';
import { printable } from './printable.ts';
import type { Screen } from './screen.ts';
import { relativeTime } from './time.ts';

/**
 * A tree as people draw one: the oldest first, each branch below what it left. A line of snapshots without a branch stays
 * in one column, so that a long day is not a staircase.
 *
 *     turn-0001  2h ago
 *     turn-0002  1h ago
 *     ├─ turn-0003  50m ago
 *     ╰─ turn-0004  10m ago
 *        now
 */
export function historyText(screen: Screen, sandbox: Sandbox, snapshots: readonly Snapshot[]): string {
  if (snapshots.length === 0) return 'no snapshots yet; `caisson turn-complete` makes one';
  const known = new Set(snapshots.map(({ id }) => id));
  const children = new Map<string | null, Snapshot[]>();
  for (const one of [...snapshots].reverse()) {
    // What it came from may be another sandbox's, or gone.
    const parent = one.parent !== null && known.has(one.parent) ? one.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  const now = sandbox.head !== null && known.has(sandbox.head) ? sandbox.head : null;
  const lines: string[] = [];
  const stack = nodesBelow(null, '');
  for (let next = stack.pop(); next; next = stack.pop()) {
    lines.push(next.prefix + next.text);
    if (next.id !== undefined) stack.push(...nodesBelow(next.id, next.rest));
  }
  return lines.join('\n');

  /** In the reverse order of their lines, for a stack: a tree may be deeper than calls can be. */
  function nodesBelow(parent: string | null, indent: string): Node[] {
    const branches: { id?: string; text: string }[] = (children.get(parent) ?? []).map((one) => ({
      id: one.id,
      text: lineOf(one),
    }));
    if (now === parent && sandbox.state !== 'destroyed') branches.push({ text: screen.paint('now', 'good') });
    const isFork = branches.length > 1;
    return branches
      .map(({ id, text }, index) => {
        const isLast = index === branches.length - 1;
        const prefix = isFork ? `${indent}${isLast ? '╰─ ' : '├─ '}` : indent;
        const rest = isFork ? `${indent}${isLast ? '   ' : '│  '}` : indent;
        return { ...(id === undefined ? {} : { id }), text, prefix, rest };
      })
      .reverse();
  }

  function lineOf(one: Snapshot): string {
    const labels = Object.entries(one.labels).map(([key, value]) => `${key}=${value}`);
    const name = one.name ?? one.id;
    const parts = [name, one.kind === 'turn' ? '' : one.kind, relativeTime(one.createdAt), ...labels];
    return printable(parts.filter((part) => part !== '').join('  '));
  }
}

interface Node {
  readonly id?: string;
  readonly text: string;
  readonly prefix: string;
  readonly rest: string;
}
