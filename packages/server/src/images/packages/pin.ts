import { distributionFacts, isNativeVersion } from './distributions.ts';
import type { PackageIndex, PackagePlace, ResolvedPackage, Unresolved } from './resolution.ts';

/** No answer needs more versions than a person compares. */
const maxShown = 10;

/**
 * The package with the version that was asked for, in the distribution's own words. With an index a version that does
 * not exist is told before anything is built, and `2.39.5` finds `1:2.39.5-0+deb12u2`; without one it stays as written.
 */
export function pin(
  found: ResolvedPackage,
  version: string,
  place: PackagePlace,
  index: PackageIndex | undefined,
  lines: readonly string[],
): ResolvedPackage | Unresolved {
  const { id, nativeNames } = found;
  const facts = distributionFacts[place.distribution];
  const refuse = (why: string, available: readonly string[] = lines): Unresolved => ({
    status: 'version-unavailable',
    id,
    version,
    available: available.slice(-maxShown),
    why,
  });
  if (facts.pin === undefined) return refuse(facts.whyNoPin ?? 'it has no versions to choose from');
  if (!isNativeVersion(place.distribution, version))
    return { status: 'invalid', id, why: `\`${version.slice(0, 40)}\` is not a version as ${facts.title} writes them` };
  const [name = '', ...more] = nativeNames;
  if (more.length > 0)
    return refuse(`it is several packages here (${nativeNames.join(', ')}); ask for each by its own name`);
  if (index === undefined)
    return { ...found, version, why: `${found.why}; whether it has version ${version} is known only when it is built` };
  const offered = index.versionsOf(name);
  const exact = offered.find((candidate) => candidate === version);
  // The last is the newest.
  const full = exact ?? offered.findLast((candidate) => upstreamForms(candidate).includes(version));
  if (full === undefined) return refuse(`${index.name} has ${name} in another version`, offered);
  const why = full === version ? found.why : `${found.why}; version ${version} is ${full} there`;
  return { ...found, version: full, verified: true, why };
}

/** `1:2.39.5+dfsg-0+deb12u2` is 2.39.5 to everybody else. */
export function upstreamForms(version: string): readonly string[] {
  const upstream = version.replace(/^\d+:/, '').replace(/-[^-]*$/, '');
  return [version.replace(/^\d+:/, ''), upstream, upstream.replace(/[+~].*$/, '')];
}
