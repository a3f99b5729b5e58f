import { expect, test } from 'vitest';
import { distributionFacts, distributions, isNativeName } from '../distributions.ts';
import { ambiguousWords, catalog, thingsNamed } from './catalog.ts';
import { type NativeName, namesIn } from './thing.ts';

const releasesOf = (distribution: (typeof distributions)[number]) => [
  undefined,
  ...distributionFacts[distribution].releases.map(({ name }) => name),
];

function everyName(name: NativeName | undefined, distribution: (typeof distributions)[number]): string[] {
  return releasesOf(distribution).flatMap((release) => namesIn(name, release) ?? []);
}

test('the catalog has what developers ask for', () => {
  expect(catalog.length).toBeGreaterThanOrEqual(150);
});

test('an id is said once, and is nobody else’s alias', () => {
  const ids = catalog.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(catalog.flatMap(({ aliases }) => aliases).filter((alias) => ids.includes(alias))).toEqual([]);
});

test('every id and alias can be written in a spec', () => {
  const words = catalog.flatMap(({ id, aliases }) => [id, ...aliases]);
  expect(words.filter((word) => !/^[a-z0-9][a-z0-9.+_-]*$/.test(word))).toEqual([]);
});

test('every native name is one that its package manager takes', () => {
  const wrong = catalog.flatMap(({ id, names, lines }) =>
    distributions.flatMap((distribution) =>
      [names[distribution], ...Object.values(lines[distribution] ?? {})]
        .flatMap((name) => everyName(name, distribution))
        .filter((name) => !isNativeName(distribution, name))
        .map((name) => `${id} on ${distribution}: ${name}`),
    ),
  );
  expect(wrong).toEqual([]);
});

test('every thing is somewhere', () => {
  const nowhere = catalog.filter(({ names }) =>
    distributions.every((distribution) => everyName(names[distribution], distribution).length === 0),
  );
  expect(nowhere).toEqual([]);
});

test('what differs by release names releases that there are', () => {
  const wrong = catalog.flatMap(({ id, names, lines }) =>
    distributions.flatMap((distribution) =>
      [names[distribution], ...Object.values(lines[distribution] ?? {})]
        .flatMap((name) => (typeof name === 'object' ? Object.keys(name) : []))
        .filter((release) => release !== 'default' && !releasesOf(distribution).includes(release))
        .map((release) => `${id} on ${distribution}: ${release}`),
    ),
  );
  expect(wrong).toEqual([]);
});

test('these words mean several things, and no others', () => {
  expect(ambiguousWords().map(({ word }) => word)).toEqual([
    'awk',
    'vi',
    'top',
    'postgres',
    'postgresql',
    'mysql',
    'mariadb',
    'redis',
    'ssl',
  ]);
});

test.each([
  ['node', 'node'],
  ['NodeJS', 'node'],
  ['golang', 'go'],
  ['pg', 'postgresql-client'],
  ['psql', 'postgresql-client'],
  ['rg', 'ripgrep'],
  ['k8s', 'kubectl'],
  ['g++', 'g++'],
])('%s is the thing %s', (word, id) => {
  expect(thingsNamed(word).map((entry) => entry.id)).toEqual([id]);
});
