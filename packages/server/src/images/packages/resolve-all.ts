import { distributionFacts } from './distributions.ts';
import type { PackageNameService } from './name-service.ts';
import type { PackageIndex, PackagePlace, PackageQuery, PackageResolution } from './resolution.ts';
import { resolvePackage } from './resolve.ts';

export interface Lookups {
  readonly index?: PackageIndex | undefined;
  readonly service?: PackageNameService | undefined;
}

/** A spec full of unknown names must not become a flood of questions. */
const maxAsked = 20;
/** Looking for near names takes milliseconds; who misspells more has read enough. */
export const maxSuggested = 10;

/** Every package of a blueprint, in its order. The service is asked only for what nothing else knows. */
export async function resolvePackages(
  queries: readonly PackageQuery[],
  place: PackagePlace,
  { index, service }: Lookups,
  signal: AbortSignal,
): Promise<readonly PackageResolution[]> {
  const resolutions: PackageResolution[] = [];
  let asked = 0;
  let unknown = 0;
  for (const query of queries) {
    const known = resolvePackage(query, place, index, unknown < maxSuggested);
    if (known.status === 'not-found') unknown += 1;
    if (known.status !== 'not-found' || service === undefined || asked >= maxAsked) {
      resolutions.push(known);
      continue;
    }
    asked += 1;
    const names = await service.namesFor(query.id, place, signal);
    resolutions.push(fromService(query, place, index, names) ?? known);
  }
  return resolutions;
}

/** One name is an answer where the index agrees, or there is none; several are candidates. */
function fromService(
  query: PackageQuery,
  place: PackagePlace,
  index: PackageIndex | undefined,
  names: readonly string[],
): PackageResolution | undefined {
  const { packageManager } = distributionFacts[place.distribution];
  const offered = index === undefined ? names : names.filter((name) => index.versionsOf(name).length > 0);
  const [name, ...more] = offered;
  if (name === undefined) return undefined;
  if (more.length > 0) {
    const candidates = offered.map((native) => ({
      id: `${packageManager}:${native}`,
      what: 'the name service knows it',
    }));
    return { status: 'ambiguous', id: query.id, candidates };
  }
  const found = resolvePackage({ ...query, id: `${packageManager}:${name}` }, place, index);
  if (found.status !== 'resolved') return { ...found, id: query.id };
  return { ...found, id: query.id, from: 'service', why: 'the name service says so' };
}
