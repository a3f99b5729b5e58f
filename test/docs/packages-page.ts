import {
  ambiguousWords,
  catalog,
  catalogParts,
  verifiedReleases,
} from '../../packages/server/src/images/packages/catalog/catalog.ts';
import { type NativeName, namesIn, type Thing } from '../../packages/server/src/images/packages/catalog/thing.ts';
import { distributionFacts, distributions } from '../../packages/server/src/images/packages/distributions.ts';

/** docs/packages.md, from the catalog and from nothing else but the words around it. */
export function renderPackagesPage(): string {
  const verified = Object.entries(verifiedReleases).flatMap(([name, releases]) =>
    releases.map((release) => `${name} ${release}`),
  );
  return [
    '# Packages',
    '',
    'A spec names packages once, and each distribution has names of its own for them. This page is generated from',
    '`packages/server/src/images/packages/catalog/` by `npm run docs`; a test fails when they differ.',
    '',
    '```yaml',
    'packages: [node, golang, psql, "git@2.39.5", "apt:cowsay"]',
    '```',
    '',
    '## What a name means',
    '',
    '| a name that is | gives |',
    '| --- | --- |',
    '| an id or an alias of this page, in any case | what the distribution calls it |',
    '| an alias of several things | `ambiguous`, with the ids to choose from |',
    '| known, but not on this distribution | `unsupported-on-os`, with those that have it |',
    "| not on this page, but in the release's own index (Debian) | itself |",
    '| `apt:…`, `dnf:…`, `pacman:…`, `apk:…` or `nix:…` | itself, on distributions with that package manager |',
    '| none of these | `not-found`, with the nearest names; it is never guessed |',
    '| not a name at all, or one of a language (`@scope/name`) | `invalid`; what a language has goes into `setup` |',
    '',
    'A name service may be asked for what is still unknown. Its answer counts only when it is one valid name, and one that',
    'the index has where there is an index. Without it, everything here works the same.',
    '',
    '## Versions',
    '',
    'A version is exact, or one of the lines below. What is not available is refused before anything is built, where that',
    'can be known: on Debian by the index of the mirror that the machine uses, kept for six hours.',
    '',
    '| distribution | how it is pinned | |',
    '| --- | --- | --- |',
    ...distributions.map(pinRow),
    '',
    'Upstream’s version is enough where an index is there: `git@2.39.5` finds `1:2.39.5-0+deb12u2`.',
    '',
    '| thing | lines that are packages of their own |',
    '| --- | --- |',
    ...catalog.filter(({ lines }) => Object.keys(lines).length > 0).map(lineRow),
    '',
    '## Words that mean several things',
    '',
    '| word | write |',
    '| --- | --- |',
    ...ambiguousWords().map(({ word, ids }) => `| \`${word}\` | ${ids.map((id) => `\`${id}\``).join(' or ')} |`),
    '',
    `## The catalog: ${catalog.length} things`,
    '',
    `Verified: every name of ${verified.join(' and ')} is held against the index of Debian's mirror by a test. The names of`,
    'the other distributions are not verified. `—` is where there is none. Names that differ by release are shown with it.',
    '',
    ...Object.entries(catalogParts).flatMap(([title, things]) => part(title, things)),
  ].join('\n');
}

function part(title: string, things: readonly Thing[]): string[] {
  const titles = distributions.map((name) => distributionFacts[name].title);
  return [
    `### ${title}`,
    '',
    `| id | what | also written | ${titles.join(' | ')} |`,
    `| --- | --- | --- |${' --- |'.repeat(titles.length)}`,
    ...things.map(({ id, what, aliases, names }) => {
      const cells = distributions.map((name) => nameCell(names[name]));
      return `| \`${id}\` | ${what} | ${aliases.join(', ')} | ${cells.join(' | ')} |`;
    }),
    '',
  ];
}

function nameCell(name: NativeName): string {
  if (typeof name !== 'object') return name === false ? '—' : name;
  const { default: rest, ...releases } = name;
  const own = Object.entries(releases).map(([release, value]) => `${value === false ? '—' : value} (${release})`);
  return [...own, `${rest === false ? '—' : rest} (others)`].join(', ');
}

function pinRow(name: (typeof distributions)[number]): string {
  const { title, pin, whyNoPin } = distributionFacts[name];
  return pin === undefined ? `| ${title} | refused | ${whyNoPin} |` : `| ${title} | \`${pin('name', 'version')}\` | |`;
}

function lineRow({ id, lines }: Thing): string {
  const cells = distributions.flatMap((name) => {
    const known = Object.entries(lines[name] ?? {}).filter(
      ([, native]) => typeof native === 'object' || namesIn(native, undefined),
    );
    return known.length === 0 ? [] : [`${distributionFacts[name].title}: ${known.map(([line]) => line).join(', ')}`];
  });
  return `| \`${id}\` | ${cells.join('; ')} |`;
}
