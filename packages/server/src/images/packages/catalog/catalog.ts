import { building } from './building.ts';
import { everyday } from './everyday.ts';
import { languages } from './languages.ts';
import { libraries } from './libraries.ts';
import { services } from './services.ts';
import type { Thing } from './thing.ts';

/** The catalog by what its parts are about; docs/packages.md shows it so. */
export const catalogParts: Readonly<Record<string, readonly Thing[]>> = {
  Languages: languages,
  'Compilers and build tools': building,
  'Everyday tools': everyday,
  'Databases, networks, containers, clouds': services,
  Libraries: libraries,
};

export const catalog: readonly Thing[] = Object.values(catalogParts).flat();

/** Every name of each of these releases was held against the distribution's own index; a test does it again. */
export const verifiedReleases: Readonly<Record<string, readonly string[]>> = { debian: ['bookworm', 'trixie'] };

export function isVerified(distribution: string, release: string | undefined): boolean {
  return release !== undefined && (verifiedReleases[distribution] ?? []).includes(release);
}

const byId = new Map(catalog.map((entry) => [entry.id, entry]));
const byAlias = new Map<string, Thing[]>();
for (const entry of catalog)
  for (const alias of entry.aliases) byAlias.set(alias, [...(byAlias.get(alias) ?? []), entry]);

/** Every thing that a word may mean, whatever its case: one by its id, or all that have it as an alias. */
export function thingsNamed(word: string): readonly Thing[] {
  const folded = word.toLowerCase();
  const exact = byId.get(folded);
  return exact === undefined ? (byAlias.get(folded) ?? []) : [exact];
}

export function findThing(id: string): Thing | undefined {
  return byId.get(id);
}

export function catalogWords(): Iterable<string> {
  return [...byId.keys(), ...byAlias.keys()];
}

/** Words that mean several things, for the page of the catalog. */
export function ambiguousWords(): readonly { readonly word: string; readonly ids: readonly string[] }[] {
  return [...byAlias]
    .filter(([word, things]) => things.length > 1 && !byId.has(word))
    .map(([word, things]) => ({ word, ids: things.map(({ id }) => id) }));
}
