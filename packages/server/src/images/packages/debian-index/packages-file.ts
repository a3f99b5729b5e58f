import { CaissonError } from '@caisson/contract';
import type { PackageIndex } from '../resolution.ts';
import { compareDebianVersions } from './debian-version.ts';

/** Debian has 70 000 packages in a suite; a file with ten times as many is not an index. */
const maxPackages = 700_000;
/** The longest line of an index, a list of dependencies, has some 10 000 characters. */
const maxLine = 1_000_000;
const namePattern = /^[a-z0-9][a-z0-9+.-]{1,127}$/;
const versionPattern = /^[A-Za-z0-9][A-Za-z0-9.+:~-]{0,127}$/;

/** Names with their versions of a `Packages` file, as it comes. What is malformed is left out. */
export async function* readPackagesFile(content: AsyncIterable<Uint8Array>): AsyncGenerator<readonly [string, string]> {
  let name: string | undefined;
  let count = 0;
  for await (const line of linesOf(content)) {
    if (line.startsWith('Package: ')) name = line.slice('Package: '.length).trim();
    else if (line.startsWith('Version: ') && name !== undefined) {
      const version = line.slice('Version: '.length).trim();
      if (!namePattern.test(name) || !versionPattern.test(version)) continue;
      count += 1;
      if (count > maxPackages) throw new CaissonError('image_too_large', 'the package index has too many entries');
      yield [name, version];
      name = undefined;
    }
  }
}

async function* linesOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of content) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxLine) throw new CaissonError('image_too_large', 'the package index has a line without end');
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Names with versions, one a line: what is kept of an index. */
export function readKeptIndex(name: string, texts: readonly string[]): PackageIndex {
  const versions = new Map<string, string | readonly string[]>();
  for (const text of texts) {
    for (const line of text.split('\n')) {
      const space = line.indexOf(' ');
      if (space === -1) continue;
      const [key, version] = [line.slice(0, space), line.slice(space + 1)];
      const before = versions.get(key);
      // Nearly all packages have one version; a list for each would cost as much again.
      if (before === undefined) versions.set(key, version);
      else if (!listed(before).includes(version))
        versions.set(key, [...listed(before), version].sort(compareDebianVersions));
    }
  }
  return { name, versionsOf: (nativeName) => listed(versions.get(nativeName)) };
}

function listed(versions: string | readonly string[] | undefined): readonly string[] {
  if (versions === undefined) return [];
  return typeof versions === 'string' ? [versions] : versions;
}
