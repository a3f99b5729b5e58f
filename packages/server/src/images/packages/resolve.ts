import { isVerified, thingsNamed } from './catalog/catalog.ts';
import { namesIn, type Thing } from './catalog/thing.ts';
import { distributionFacts, distributions, isNativeName, releaseName } from './distributions.ts';
import { nearestNames } from './nearest-names.ts';
import { pin } from './pin.ts';
import type { PackageIndex, PackagePlace, PackageQuery, PackageResolution, ResolvedPackage } from './resolution.ts';

/** `apt:name`: that name and no other, for that package manager. */
const asWritten = /^(apt|dnf|pacman|nix|apk):(.+)$/;

/**
 * One package on one release: by the catalog, else as it is written where the release's own index has that name.
 * Pure: the index is given. Without `suggest` the nearest names are not looked for, which is most of the work. What is neither in the catalog nor in an index is `not-found`, never guessed.
 */
export function resolvePackage(
  query: PackageQuery,
  place: PackagePlace,
  index?: PackageIndex,
  suggest = true,
): PackageResolution {
  const answer = resolve(query, place, index);
  if (answer.status !== 'not-found' || !suggest) return answer;
  return { ...answer, nearest: nearestNames(query.id.replace(asWritten, '$2'), index) };
}

function resolve(query: PackageQuery, place: PackagePlace, index: PackageIndex | undefined): PackageResolution {
  const { id, version } = query;
  const literal = asWritten.exec(id);
  if (literal) return resolveAsWritten(query, literal[1] ?? '', literal[2] ?? '', place, index);
  if (!/^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}$/.test(id))
    return { status: 'invalid', id, why: 'it is not the name of a package; what a language has goes into `setup`' };
  const things = thingsNamed(id);
  const [first, ...more] = things;
  if (first === undefined) return resolveByIndex(query, place, index);
  if (more.length > 0) return { status: 'ambiguous', id, candidates: things.map(({ id, what }) => ({ id, what })) };
  const lines = linesOf(first, place);
  const line = version === undefined ? undefined : lines.get(version);
  if (line !== undefined)
    return resolved(
      query,
      place,
      line,
      'catalog',
      `version ${version} of ${first.id} is a package of its own here`,
      index,
    );
  const names = namesIn(first.names[place.distribution], place.release);
  if (names === undefined) return { status: 'unsupported-on-os', id, available: whoHas(first) };
  const why =
    names.length === 1 && names[0] === id ? 'the catalog has it' : `the catalog has ${first.id} under that name`;
  const found = resolved(query, place, names, 'catalog', why, index);
  return version === undefined ? found : pin(found, version, place, index, [...lines.keys()]);
}

function resolveAsWritten(
  query: PackageQuery,
  manager: string,
  name: string,
  place: PackagePlace,
  index: PackageIndex | undefined,
): PackageResolution {
  const { id, version } = query;
  if (distributionFacts[place.distribution].packageManager !== manager) {
    const available = distributions.filter((name) => distributionFacts[name].packageManager === manager);
    return { status: 'unsupported-on-os', id, available };
  }
  if (!isNativeName(place.distribution, name))
    return { status: 'invalid', id, why: `\`${name.slice(0, 40)}\` is not a package name of ${manager}` };
  if (index !== undefined && index.versionsOf(name).length === 0) return notFound(id, index);
  const found = resolved(query, place, [name], 'spec', 'the spec names it so', index);
  return version === undefined ? found : pin(found, version, place, index, []);
}

function resolveByIndex(query: PackageQuery, place: PackagePlace, index: PackageIndex | undefined): PackageResolution {
  const { id, version } = query;
  if (index === undefined || !isNativeName(place.distribution, id) || index.versionsOf(id).length === 0)
    return notFound(id, index);
  const found = resolved(query, place, [id], 'index', `${index.name} has it under that name`, index);
  return version === undefined ? found : pin(found, version, place, index, []);
}

function notFound(id: string, index: PackageIndex | undefined): PackageResolution {
  const where = index === undefined ? 'and there is no index to look in' : `and ${index.name} has no such package`;
  return { status: 'not-found', id, nearest: [], why: `the catalog does not have it, ${where}` };
}

function resolved(
  { id }: PackageQuery,
  place: PackagePlace,
  nativeNames: readonly string[],
  from: ResolvedPackage['from'],
  why: string,
  index: PackageIndex | undefined,
): ResolvedPackage {
  const seen = index !== undefined && nativeNames.every((name) => index.versionsOf(name).length > 0);
  const verified = seen || (from === 'catalog' && isVerified(place.distribution, place.release));
  const { packageManager } = distributionFacts[place.distribution];
  return { status: 'resolved', id, packageManager, nativeNames, verified, from, why };
}

/** The version lines of a thing that this release has. */
function linesOf(thing: Thing, place: PackagePlace): Map<string, readonly string[]> {
  const lines = new Map<string, readonly string[]>();
  for (const [line, name] of Object.entries(thing.lines[place.distribution] ?? {})) {
    const names = namesIn(name, place.release);
    if (names !== undefined) lines.set(line, names);
  }
  return lines;
}

function whoHas(thing: Thing) {
  return distributions.filter((name) => namesIn(thing.names[name], releaseName(name, undefined)) !== undefined);
}
