import { nearest } from '@caisson/workspace-composition';
import type { RemoteRef } from './advertisement.ts';

/** What a ref of a spec stands for now. */
export interface FoundRef {
  readonly commit: string;
  /** The branch, where it is one: the workspace is on it then. */
  readonly branch?: string;
}

const maxNear = 5;

export function isCommit(ref: string | undefined): ref is string {
  return ref !== undefined && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(ref);
}

/** The names that git looks for, in its order; without a ref, the default branch. */
export function wantedNames(ref: string | undefined): readonly string[] {
  if (ref === undefined || ref === 'HEAD') return ['HEAD'];
  if (ref.startsWith('refs/')) return [ref];
  if (/^(?:heads|tags)\//.test(ref)) return [`refs/${ref}`, `refs/tags/${ref}`, `refs/heads/${ref}`];
  return [`refs/tags/${ref}`, `refs/heads/${ref}`];
}

/** Undefined where there is none of that name. A tag counts before a branch, as it does for git. */
export function findRef(refs: readonly RemoteRef[], ref: string | undefined): FoundRef | undefined {
  for (const name of wantedNames(ref)) {
    const found = refs.find((one) => one.name === name);
    if (found === undefined) continue;
    const branch = branchOf(found.target ?? name);
    return { commit: found.peeled ?? found.id, ...(branch === undefined ? {} : { branch }) };
  }
  return undefined;
}

/** Names that may have been meant, the nearest first, then those that somebody most likely wants. */
export function nearRefs(refs: readonly RemoteRef[], ref: string): readonly string[] {
  const head = refs.find(({ name }) => name === 'HEAD')?.target;
  const names = new Set(refs.map(({ name }) => shortName(name)).filter((name) => name !== 'HEAD'));
  const near: string[] = [];
  const wanted = shortName(ref);
  const folded = wanted.toLowerCase();
  // `1.2` for `v1.2`, `login` for `feature/login`, and the other way round.
  for (const name of names) {
    if (near.length >= maxNear) break;
    const other = name.toLowerCase();
    if (other === folded || other === `v${folded}` || `v${other}` === folded || other.endsWith(`/${folded}`))
      near.push(name);
  }
  for (const name of near) names.delete(name);
  while (near.length < maxNear) {
    const next = nearest(wanted, names);
    if (next === undefined) break;
    near.push(next);
    names.delete(next);
  }
  if (near.length === 0 && head !== undefined) near.push(shortName(head));
  return near;
}

export function shortName(name: string): string {
  return name.replace(/^refs\/(?:heads|tags)\//, '');
}

/** A name that git could take for something else is no branch to be on. */
function branchOf(name: string): string | undefined {
  const branch = /^refs\/heads\/(.+)$/.exec(name)?.[1];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
  return branch === undefined || /^[-@]|[\u0000-\u0020~^:?*[\\\u007f]|\.\.|@\{/.test(branch) ? undefined : branch;
}
