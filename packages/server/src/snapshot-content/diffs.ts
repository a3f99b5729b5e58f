import { isUtf8 } from 'node:buffer';
import {
  CaissonError,
  canUse,
  type Diff,
  type FileDiff,
  type Id,
  isId,
  maxFileDiffBytes,
  refusal,
  type Sandbox,
} from '@caisson/contract';
import type { Filesystems } from '../sandbox/filesystems.ts';
import type { Sandboxes } from '../sandbox/sandboxes.ts';

import type { Snapshots } from '../sandbox/travel/snapshots.ts';
import type { TreeView } from '../storage/storage.ts';
import type { Caller } from '../tenancy/caller.ts';
import { type DiffRequest, diffTrees } from './diff-trees.ts';
import { type Found, lookInTree } from './look-in-tree.ts';
import { requireOurFiles, type SnapshotOrigin } from './our-files.ts';
import { unifiedDiff } from './unified-diff.ts';

export interface DiffsContext extends SnapshotOrigin {
  readonly filesystems: Filesystems | undefined;
  readonly sandboxes: Pick<Sandboxes, 'get'>;
  readonly snapshots: Pick<Snapshots, 'stored'>;
}

type Target = Diff['to'];

/** What differs between two snapshots, or a snapshot and now. Every method takes the caller and checks the owner. */
export class Diffs {
  readonly #context: DiffsContext;

  constructor(context: DiffsContext) {
    this.#context = context;
  }

  async diff(caller: Caller, id: string, to: Target, request: DiffRequest, signal: AbortSignal): Promise<Diff> {
    const { from, other, filesystems } = await this.#sides(caller, id, to);
    if (other === from) return { from, to, items: [], next: null, skipped: 0 };
    const { guestProgram } = await filesystems.images.workshop();
    const found = await this.#views(filesystems, from, other, signal, (views) =>
      diffTrees(guestProgram, views, request, signal),
    );
    return { from, to, ...found, items: [...found.items] };
  }

  async file(caller: Caller, id: string, to: Target, path: string, signal: AbortSignal): Promise<FileDiff> {
    const { from, other, filesystems } = await this.#sides(caller, id, to);
    const look = ({ root }: TreeView) => lookInTree(root, path, maxFileDiffBytes);
    const [before, after] = await this.#views(filesystems, from, other, signal, async ([a, b]) => [
      await look(a),
      await look(b),
    ]);
    if (before.node === null && after.node === null) {
      throw new CaissonError('file_not_found', `there is no ${path} on either side`);
    }
    const shown = `/${path.replace(/^\/+/, '')}`;
    return { path: shown, before: before.node, after: after.node, ...compare(shown, before, after) };
  }

  async #sides(caller: Caller, id: string, to: Target) {
    const { filesystems, snapshots, sandboxes } = this.#context;
    const snapshot = await snapshots.stored(caller, id);
    await requireOurFiles(this.#context, snapshot.id);
    if (!filesystems) throw new CaissonError('snapshots_not_available', 'this server has no storage for snapshots');
    if (isId('snapshot', to)) {
      const other = await snapshots.stored(caller, to);
      await requireOurFiles(this.#context, other.id);
      return { filesystems, from: snapshot.id, other: other.id };
    }
    const sandbox = await sandboxes.get(caller, snapshot.sandbox);
    requireFiles(sandbox);
    return { filesystems, from: snapshot.id, other: sandbox.id };
  }

  /** In one order whoever asks: two that hold one each and want the other's would wait for ever with those who remove. */
  async #views<T>(
    { storage }: Filesystems,
    from: Id<'snapshot'>,
    other: Id<'snapshot'> | Id<'sandbox'>,
    signal: AbortSignal,
    use: (views: readonly [TreeView, TreeView]) => Promise<T>,
  ): Promise<T> {
    if (from === other) return storage.view(from, (view) => use([view, view]), signal);
    if (from < other) return storage.view(from, (a) => storage.view(other, (b) => use([a, b]), signal), signal);
    return storage.view(other, (b) => storage.view(from, (a) => use([a, b]), signal), signal);
  }
}

function requireFiles({ id, state, persistence }: Sandbox): void {
  if (canUse('snapshot', state) && (state !== 'stopped' || persistence === 'persistent')) return;
  throw new CaissonError(refusal(state), `${id} is ${state}: it has no files to compare with now`);
}

function compare(path: string, before: Found, after: Found): Pick<FileDiff, 'form' | 'text'> {
  if (before.bytes && after.bytes && before.bytes.equals(after.bytes)) return { form: 'equal', text: null };
  const sides = [before, after].filter(({ node }) => node !== null && node.kind !== 'folder' && node.kind !== 'other');
  if (sides.some(({ bytes }) => bytes === null)) return { form: 'too-large', text: null };
  if (sides.some(({ bytes }) => bytes !== null && (!isUtf8(bytes) || bytes.includes(0))))
    return { form: 'binary', text: null };
  const text = unifiedDiff(path, before.bytes?.toString() ?? null, after.bytes?.toString() ?? null);
  return text === '' ? { form: 'equal', text: null } : { form: 'text', text };
}
