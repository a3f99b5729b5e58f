import fc from 'fast-check';
import { expect, test } from 'vitest';
import { catalog } from './catalog/catalog.ts';
import { distributionFacts, distributions, isNativeName, isNativeVersion } from './distributions.ts';
import { nearestNames } from './nearest-names.ts';
import { refusalOf } from './refusal.ts';
import type { PackageIndex } from './resolution.ts';
import { resolvePackage } from './resolve.ts';

const bookworm = { distribution: 'debian', release: 'bookworm' } as const;
const trixie = { distribution: 'debian', release: 'trixie' } as const;
const fedora = { distribution: 'fedora', release: '42' } as const;
const arch = { distribution: 'arch', release: undefined } as const;
const nix = { distribution: 'nix', release: '25.05' } as const;
const alpine = { distribution: 'alpine', release: '3.22' } as const;

const offered: Record<string, readonly string[]> = {
  git: ['1:2.39.2-1.1', '1:2.39.5-0+deb12u2'],
  nodejs: ['18.20.4+dfsg-1~deb12u2'],
  cowsay: ['3.03+dfsg2-8'],
  'libfrobnicate-dev': ['1-1'],
};
const index: PackageIndex = {
  name: 'Debian bookworm (amd64)',
  versionsOf: (name) => (Object.hasOwn(offered, name) ? (offered[name] ?? []) : []),
};

test('a thing is called what its distribution calls it', () => {
  expect(resolvePackage({ id: 'golang' }, bookworm)).toMatchObject({
    status: 'resolved',
    nativeNames: ['golang-go'],
    packageManager: 'apt',
    verified: true,
    from: 'catalog',
  });
  expect(resolvePackage({ id: 'fd' }, fedora)).toMatchObject({ nativeNames: ['fd-find'], verified: false });
  expect(resolvePackage({ id: 'python' }, arch)).toMatchObject({ nativeNames: ['python'] });
  expect(resolvePackage({ id: 'make' }, nix)).toMatchObject({ nativeNames: ['gnumake'] });
  expect(resolvePackage({ id: 'build-essential' }, alpine)).toMatchObject({ nativeNames: ['build-base'] });
});

test('a name follows its release', () => {
  expect(resolvePackage({ id: 'eza' }, bookworm)).toMatchObject({ nativeNames: ['exa'] });
  expect(resolvePackage({ id: 'eza' }, trixie)).toMatchObject({ nativeNames: ['eza'] });
});

test('a word that means several things is not guessed', () => {
  const answer = resolvePackage({ id: 'postgres' }, bookworm);
  expect(answer).toMatchObject({
    status: 'ambiguous',
    candidates: [{ id: 'postgresql-client' }, { id: 'postgresql-server' }],
  });
});

test('what a distribution lacks comes with those that have it', () => {
  expect(resolvePackage({ id: 'helix' }, bookworm)).toEqual({
    status: 'unsupported-on-os',
    id: 'helix',
    available: ['fedora', 'arch', 'nix', 'alpine'],
  });
});

test('what nobody knows comes with the nearest names', () => {
  expect(resolvePackage({ id: 'ripgerp' }, fedora)).toMatchObject({ status: 'not-found', nearest: ['ripgrep'] });
  expect(nearestNames('frobnicate', index)).toContain('libfrobnicate-dev');
  for (const slip of ['cowsayy', 'cwsay', 'ocwsay', 'cowsax']) expect(nearestNames(slip, index)).toContain('cowsay');
  expect(nearestNames('x'.repeat(41), index)).toEqual([]);
});

test('a name of the index is taken as it is, and nowhere else', () => {
  expect(resolvePackage({ id: 'cowsay' }, bookworm, index)).toMatchObject({
    status: 'resolved',
    nativeNames: ['cowsay'],
    from: 'index',
    verified: true,
  });
  expect(resolvePackage({ id: 'cowsay' }, bookworm)).toMatchObject({ status: 'not-found' });
  expect(resolvePackage({ id: 'cowsay' }, fedora)).toMatchObject({ status: 'not-found' });
});

test('a name for one package manager is taken as it is by that one', () => {
  expect(resolvePackage({ id: 'dnf:cowsay' }, fedora)).toMatchObject({ nativeNames: ['cowsay'], from: 'spec' });
  expect(resolvePackage({ id: 'dnf:cowsay' }, bookworm)).toMatchObject({
    status: 'unsupported-on-os',
    available: ['fedora'],
  });
  expect(resolvePackage({ id: 'apt:Cowsay' }, bookworm)).toMatchObject({ status: 'invalid' });
  expect(resolvePackage({ id: 'apt:nothing' }, bookworm, index)).toMatchObject({ status: 'not-found' });
});

test.each(['@types/node', '-y', '', 'a b', 'x'.repeat(200), 'git;reboot'])('%j is no package', (id) => {
  expect(resolvePackage({ id }, bookworm)).toMatchObject({ status: 'invalid' });
});

test('a version is the one that the index has, by its own name or by that of upstream', () => {
  const version = '1:2.39.5-0+deb12u2';
  expect(resolvePackage({ id: 'git', version }, bookworm, index)).toMatchObject({ status: 'resolved', version });
  expect(resolvePackage({ id: 'git', version: '2.39.5' }, bookworm, index)).toMatchObject({ version });
  expect(resolvePackage({ id: 'node', version: '18.20.4' }, bookworm, index)).toMatchObject({
    version: '18.20.4+dfsg-1~deb12u2',
  });
});

test('a version that the index does not have is refused before anything is built', () => {
  expect(resolvePackage({ id: 'git', version: '9.9' }, bookworm, index)).toMatchObject({
    status: 'version-unavailable',
    available: ['1:2.39.2-1.1', '1:2.39.5-0+deb12u2'],
  });
});

test('without an index a version stays as it was written', () => {
  expect(resolvePackage({ id: 'git', version: '2.39.5' }, bookworm)).toMatchObject({ version: '2.39.5' });
  expect(resolvePackage({ id: 'git', version: '2.47.1-r0' }, alpine)).toMatchObject({ version: '2.47.1-r0' });
});

test('a version line that is a package of its own needs no pin', () => {
  const java = resolvePackage({ id: 'java', version: '17' }, bookworm);
  expect(java).toMatchObject({ status: 'resolved', nativeNames: ['openjdk-17-jdk-headless'] });
  expect(java).not.toHaveProperty('version');
  expect(resolvePackage({ id: 'node', version: '22' }, nix)).toMatchObject({ nativeNames: ['nodejs_22'] });
});

test.each([arch, nix])('an exact version cannot be asked of %j, and it says why', (place) => {
  const answer = resolvePackage({ id: 'git', version: '2.50.0' }, place);
  expect(answer).toMatchObject({ status: 'version-unavailable', why: expect.stringContaining('pins them all') });
});

test('several packages under one name have no version together', () => {
  expect(resolvePackage({ id: 'rust', version: '1.63.0' }, bookworm)).toMatchObject({
    status: 'version-unavailable',
    why: expect.stringContaining('rustc, cargo'),
  });
});

test('whatever is asked, the answer is one of the six, and what is resolved is valid where it goes', () => {
  const words = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 150 }),
    fc.constantFrom(...catalog.flatMap(({ id, aliases }) => [id, ...aliases])),
    fc
      .tuple(fc.constantFrom('apt', 'dnf', 'pacman', 'nix', 'apk'), fc.string({ maxLength: 20 }))
      .map((p) => p.join(':')),
  );
  const versions = fc.option(fc.oneof(fc.string({ maxLength: 20 }), fc.constantFrom('17', '1.2-3', '-y')), {
    nil: undefined,
  });
  fc.assert(
    fc.property(words, versions, fc.constantFrom(...distributions), (id, version, distribution) => {
      const place = { distribution, release: distributionFacts[distribution].defaultRelease };
      const answer = resolvePackage({ id, version }, place, undefined, false);
      if (answer.status === 'resolved') {
        expect(answer.nativeNames.every((name) => isNativeName(distribution, name))).toBe(true);
        expect(answer.version === undefined || isNativeVersion(distribution, answer.version)).toBe(true);
      } else {
        expect(refusalOf(answer, place).message.length).toBeLessThan(2_000);
      }
    }),
    { numRuns: 500 },
  );
});
