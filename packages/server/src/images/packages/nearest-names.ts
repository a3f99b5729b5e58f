import { nearest } from '@caisson/workspace-composition';
import { catalogWords } from './catalog/catalog.ts';
import type { PackageIndex } from './resolution.ts';

const maxNearest = 3;
/** Longer words are never near a known one; the cap bounds the cost of a hostile name. */
const maxLength = 40;
const letters = 'abcdefghijklmnopqrstuvwxyz0123456789+.-';
/** What distributions put around the name of a thing. */
const affixes = ['lib*-dev', '*-dev', 'python3-*', 'node-*', 'ruby-*', '*-cli', '*-tools', 'golang-*'];

/** The nearest words that mean something: of the catalog, and names of the index that are one slip or an affix away. */
export function nearestNames(word: string, index?: PackageIndex): readonly string[] {
  if (word.length > maxLength) return [];
  const folded = word.toLowerCase();
  const [best, ...others] = nearestInCatalog(folded);
  const indexed = index === undefined ? [] : nearestInIndex(folded, index);
  return [...new Set([...(best === undefined ? [] : [best]), ...indexed, ...others])].slice(0, maxNearest);
}

function nearestInCatalog(word: string): readonly string[] {
  const known = new Set(catalogWords());
  const near: string[] = [];
  while (near.length < maxNearest) {
    const next = nearest(word, known);
    if (next === undefined) break;
    near.push(next);
    known.delete(next);
  }
  return near;
}

/** An index has tens of thousands of names: asking for each word that is one slip away is much less than comparing them. */
function nearestInIndex(word: string, index: PackageIndex): readonly string[] {
  const has = (name: string) => index.versionsOf(name).length > 0;
  const slips = word.length < 3 ? [] : [...oneSlipAway(word)].filter(has);
  return [...slips, ...affixes.map((form) => form.replace('*', () => word)).filter(has)];
}

function* oneSlipAway(word: string): Generator<string> {
  for (let at = 0; at <= word.length; at += 1) {
    const [before, after] = [word.slice(0, at), word.slice(at)];
    if (after !== '') yield before + after.slice(1);
    if (after.length > 1) yield before + after.charAt(1) + after.charAt(0) + after.slice(2);
    for (const letter of letters) {
      if (after !== '') yield before + letter + after.slice(1);
      yield before + letter + after;
    }
  }
}
