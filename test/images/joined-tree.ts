import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What is at a path, as one line: kind, mode, owner, and where a link leads or what is in a file. */
export type Tree = ReadonlyMap<string, string>;

/** The tree that layers give together, lowest first, as the kernel joins them. */
export function joinedTree(layers: readonly string[]): Tree {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-joined-'));
  // Of one layer alone the kernel makes no overlay.
  const lower = [
    ...[...layers].reverse(),
    ...(layers.length === 1 ? [mkdtempSync(join(tmpdir(), 'caisson-empty-'))] : []),
  ];
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', `ro,lowerdir=${lower.join(':')}`, folder]);
  try {
    const tree = new Map<string, string>();
    walk(folder, '', tree, new Map());
    return tree;
  } finally {
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
    if (layers.length === 1) rmSync(lower.at(-1) ?? '', { recursive: true });
  }
}

function walk(root: string, below: string, tree: Map<string, string>, links: Map<bigint, string>): void {
  for (const name of readdirSync(join(root, below)).sort()) {
    const path = `${below}/${name}`;
    const at = join(root, path);
    const stats = lstatSync(at, { bigint: true });
    const head = `${(Number(stats.mode) & 0o7777).toString(8)} ${stats.uid}:${stats.gid}`;
    if (stats.isSymbolicLink()) tree.set(path, `link ${stats.uid}:${stats.gid} ${readlinkSync(at)}`);
    else if (stats.isDirectory()) tree.set(path, `folder ${head}`);
    else if (!stats.isFile()) tree.set(path, `other ${head}`);
    else {
      // Of names of one file each is told by the first.
      const same = stats.nlink > 1n ? links.get(stats.ino) : undefined;
      if (stats.nlink > 1n && same === undefined) links.set(stats.ino, path);
      const content = createHash('sha256').update(readFileSync(at)).digest('hex').slice(0, 16);
      tree.set(path, same === undefined ? `file ${head} ${stats.size} ${content}` : `same as ${same}`);
    }
    if (stats.isDirectory()) walk(root, path, tree, links);
  }
}

/** Where two trees differ, one line for each path, less those that are explained. */
export function differences(one: Tree, other: Tree, explained: readonly RegExp[]): string[] {
  const paths = [...new Set([...one.keys(), ...other.keys()])].sort();
  return paths.flatMap((path) => {
    const [a, b] = [one.get(path) ?? 'nothing', other.get(path) ?? 'nothing'];
    return a === b || explained.some((form) => form.test(path)) ? [] : [`${path}: ${a} | ${b}`];
  });
}
