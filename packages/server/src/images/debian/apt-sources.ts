import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type DebianRelease, debianReleases } from './releases.ts';

const run = promisify(execFile);

/** Where packages come from and how they are fetched, as the machine's own apt is set up. */
export interface AptSetup {
  /** Lines for a sources.list; empty when the machine's apt knows no place for Debian. */
  readonly sources: readonly string[];
  /** Settings of how to fetch: proxies, certificates. They may hold secrets, and stay out of the base. */
  readonly settings: readonly string[];
}

/** A place that the machine's apt knows, for one suite. */
interface AptTarget {
  readonly address: string;
  readonly suite: string;
  readonly signedBy: string;
}

/** The only component that is free software through and through; more can be added inside. */
const component = 'main';
const kinds = ['', '-updates', '-security'] as const;

export async function readAptSetup(release: DebianRelease, signal: AbortSignal): Promise<AptSetup> {
  const [targets, dump] = await Promise.all([
    output(
      'apt-get',
      ['indextargets', '--format', '$(REPO_URI)\t$(RELEASE)\t$(SIGNED_BY)', 'Created-By: Packages'],
      signal,
    ),
    output('apt-config', ['dump'], signal),
  ]);
  return { sources: sourcesFor(release, parseTargets(targets)), settings: fetchSettings(dump) };
}

/** A machine without apt, or with a broken one, gives nothing: the bootstrap then uses its own defaults and tells. */
async function output(program: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  try {
    return (await run(program, [...args], { signal, maxBuffer: 4 * 1024 ** 2, timeout: 30_000 })).stdout;
  } catch {
    signal.throwIfAborted();
    return '';
  }
}

function parseTargets(text: string): AptTarget[] {
  return text.split('\n').flatMap((line) => {
    const [address = '', suite = '', signedBy = ''] = line.split('\t');
    // An unset variable is printed as its own name.
    return address === '' || suite === ''
      ? []
      : [{ address, suite, signedBy: signedBy.startsWith('/') ? signedBy : '' }];
  });
}

/**
 * The machine's place for a suite of the same kind, whichever release it is for: a mirror has all of them. A machine
 * that leaves out updates or security leaves them out here too.
 */
export function sourcesFor(release: DebianRelease, targets: readonly AptTarget[]): string[] {
  return kinds.flatMap((kind) => {
    const exact = targets.find(({ suite }) => suite === release.name + kind);
    const similar = targets.find(({ suite }) => debianReleases.some(({ name }) => suite === name + kind));
    const found = exact ?? similar;
    if (found === undefined) return [];
    const option = found.signedBy === '' ? '' : ` [signed-by=${found.signedBy}]`;
    return [`deb${option} ${found.address} ${release.name}${kind} ${component}`];
  });
}

export function fetchSettings(dump: string): string[] {
  return dump.split('\n').filter((line) => /^Acquire::https?::\S+ "[^"]+";$/.test(line));
}
