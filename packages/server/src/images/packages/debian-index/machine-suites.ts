import { readAptSetup } from '../../debian/apt-sources.ts';
import { debianReleases } from '../../debian/releases.ts';
import type { Suite } from './suite.ts';

/** The places of a release that the machine's own apt knows, over HTTP; that is where a base's packages come from too. */
export async function machineSuites(release: string, signal: AbortSignal): Promise<readonly Suite[]> {
  const known = debianReleases.find(({ name }) => name === release);
  if (known === undefined) return [];
  const { sources } = await readAptSetup(known, signal);
  return sources.flatMap((line) => {
    const [, address, suite] = /^deb (?:\[[^\]]*\] )?(https?:\/\/\S+) (\S+) \S+$/.exec(line) ?? [];
    return address === undefined || suite === undefined ? [] : [{ address, suite }];
  });
}
