import { CaissonError, type DiffItem, type TreeNode, type TreeNodeKind } from '@caisson/contract';
import { decodeName, encodeName } from '@caisson/guest';
import { readTree } from '../images/pack/native-tree.ts';
import type { TreeView } from '../storage/storage.ts';

export interface DiffRequest {
  /** Only this, and what is in it. */
  readonly path?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface TreeDiff {
  readonly items: readonly DiffItem[];
  readonly next: string | null;
  readonly skipped: number;
}

/** A page that takes longer ends where it is; the next one goes on. A client waits for a minute. */
const pageMs = 20_000;

const kinds: Readonly<Record<string, TreeNodeKind>> = { f: 'file', d: 'folder', l: 'link', o: 'other' };

/** What differs between two trees. Over the same image it costs what changed, and otherwise what there is. */
export async function diffTrees(
  program: string,
  [before, after]: readonly [TreeView, TreeView],
  request: DiffRequest,
  signal: AbortSignal,
): Promise<TreeDiff> {
  const args = ['diff', before.root, after.root, '--max-items', String(request.limit), '--max-ms', String(pageMs)];
  if (isSameImage(before, after)) args.push('--changes', before.changes, after.changes);
  if (request.path !== undefined) args.push('--below', readPath(request.path));
  if (request.after !== undefined) args.push('--after', readCursor(request.after));
  const items: DiffItem[] = [];
  for await (const record of recordsOf(readTree(program, args, signal))) {
    const text = record.toString('latin1');
    const last = /^([=>]) (\d+) ?/.exec(text);
    if (last) {
      const next = last[1] === '>' ? record.subarray(last[0].length).toString('base64url') : null;
      return { items, next, skipped: Number(last[2]) };
    }
    items.push(readItem(record, text));
  }
  throw new CaissonError('storage_failed', 'the trees were not compared to their end');
}

function isSameImage({ image: a }: TreeView, { image: b }: TreeView): boolean {
  return JSON.stringify([a.layers, a.binds ?? []]) === JSON.stringify([b.layers, b.binds ?? []]);
}

/** Names are bytes, and an argument of a program is text to Node: what is no plain letter is given as `%` and two digits. */
function argumentOf(bytes: Buffer): string {
  const isSafe = (byte: number) => byte === 0x2f || /[\w.-]/.test(String.fromCharCode(byte));
  const hex = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return [...bytes].map((byte) => (byte < 0x80 && isSafe(byte) ? String.fromCharCode(byte) : hex(byte))).join('');
}

function readPath(path: string): string {
  if (leadsElsewhere(path)) throw new CaissonError('file_invalid', `${path} has a \`.\` or \`..\` in it`);
  return argumentOf(encodeName(path));
}

function readCursor(text: string): string {
  const bytes = Buffer.from(text, 'base64url');
  const isOurs = bytes.length > 0 && !bytes.includes(0) && bytes.toString('base64url') === text;
  if (!isOurs || leadsElsewhere(bytes.toString('latin1'))) throw new CaissonError('cursor_invalid');
  return argumentOf(bytes);
}

function leadsElsewhere(path: string): boolean {
  return path.split('/').some((part) => part === '.' || part === '..');
}

async function* recordsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    let data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = data.indexOf(0); end !== -1; end = data.indexOf(0)) {
      yield data.subarray(0, end);
      data = data.subarray(end + 1);
    }
    rest = data;
  }
}

const recordPattern = /^([-fdlo])([-fdlo]) ([-ca]) ((?:\d+ ){4})((?:\d+ ){4})/;

function readItem(record: Buffer, text: string): DiffItem {
  const found = recordPattern.exec(text);
  if (!found) throw new CaissonError('storage_failed', 'the program that compares trees is of another version');
  const [whole, kindBefore = '', kindAfter = '', what = '', numbersBefore = '', numbersAfter = ''] = found;
  const before = readNode(kindBefore, numbersBefore);
  const after = readNode(kindAfter, numbersAfter);
  const path = `/${decodeName(record.subarray(whole.length))}`;
  return { path, change: changeOf(before, after, what), before, after };
}

function readNode(kind: string, numbers: string): TreeNode | null {
  const named = kinds[kind];
  if (named === undefined) return null;
  const [size = '0', mode = '0', uid = '0', gid = '0'] = numbers.split(' ');
  return { kind: named, size: Number(size), mode: Number.parseInt(mode, 8), uid: Number(uid), gid: Number(gid) };
}

function changeOf(before: TreeNode | null, after: TreeNode | null, what: string): DiffItem['change'] {
  if (before === null) return 'added';
  if (after === null) return 'removed';
  if (before.kind !== after.kind) return 'replaced';
  return what === 'c' ? 'changed' : 'attributes';
}
