import { CaissonError } from '@caisson/contract';
import { faultOfGitUrl } from '@caisson/workspace-composition';

export interface Submodule {
  readonly path: string;
  readonly url: string;
}

/** A repository with more is no workspace that somebody waits for. */
export const maxSubmodules = 64;
/** Submodules of submodules. */
export const maxDepth = 4;

/**
 * What `.gitmodules` says, as `git config -z` writes it. It is a stranger's: an address is held to the rules of a spec's
 * own, which know no program to run and no file of the machine, and a path stays within the repository.
 */
export function readSubmodules(config: string, parent: string): readonly Submodule[] {
  const found = new Map<string, { path?: string; url?: string }>();
  for (const entry of config.split('\0').filter(Boolean)) {
    const at = entry.indexOf('\n');
    const key = at < 0 ? entry : entry.slice(0, at);
    const [, name = '', field = ''] = /^submodule\.(.*)\.(path|url)$/s.exec(key) ?? [];
    if (field === '') continue;
    const module = found.get(name) ?? {};
    found.set(name, { ...module, [field]: at < 0 ? '' : entry.slice(at + 1) });
  }
  if (found.size > maxSubmodules)
    throw new CaissonError('source_failed', `it has more than ${maxSubmodules} submodules`);
  return [...found.values()].flatMap(({ path, url }) =>
    path === undefined || url === undefined ? [] : [checked(path, url, parent)],
  );
}

function checked(path: string, written: string, parent: string): Submodule {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
  const isOdd = /^[-/]|[\u0000-\u001f\u007f]|(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i.test(path);
  if (isOdd) throw new CaissonError('source_failed', 'a submodule of it lies outside of it');
  const url = /^\.{1,2}\//.test(written) ? beside(written, parent) : written;
  if (faultOfGitUrl(url) !== undefined)
    throw new CaissonError('source_failed', `the address of its submodule \`${path}\` is not one that is fetched from`);
  return { path, url };
}

/** `../other.git` beside `https://host/group/this.git` is `https://host/group/other.git`. */
function beside(written: string, parent: string): string {
  const [, head = '', base = ''] = /^((?:[a-z]+:\/\/[^/]+|[^/:]+@[^/:]+:))(.*)$/s.exec(parent) ?? [];
  const parts = base.replace(/\/+$/, '').split('/');
  for (const part of written.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  const path = parts.join('/');
  return head.includes('://') ? `${head}/${path.replace(/^\/+/, '')}` : `${head}${path}`;
}

/** The commit at which each path is a submodule, as `git ls-files -s -z` writes it. */
export function readCommits(listing: string): ReadonlyMap<string, string> {
  const commits = new Map<string, string>();
  for (const line of listing.split('\0')) {
    const [, commit = '', path = ''] = /^160000 ([0-9a-f]{40}|[0-9a-f]{64}) 0\t(.+)$/s.exec(line) ?? [];
    if (path !== '') commits.set(path, commit);
  }
  return commits;
}
