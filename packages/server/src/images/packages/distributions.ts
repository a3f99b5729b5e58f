/** What each distribution's package manager takes for a name and a version. The words of plans and of the catalog. */
export const distributions = ['debian', 'ubuntu', 'fedora', 'arch', 'nix', 'alpine'] as const;
export type Distribution = (typeof distributions)[number];
export type PackageManager = 'apt' | 'dnf' | 'pacman' | 'nix' | 'apk';

export interface DistributionFacts {
  readonly title: string;
  readonly packageManager: PackageManager;
  /** Newest last; the names under which the catalog keeps what differs. A release may also be given by its number. */
  readonly releases: readonly { readonly name: string; readonly number: string }[];
  readonly defaultRelease: string | undefined;
  /** Begins with a letter or digit, so that no name can be taken for an option. */
  readonly name: RegExp;
  readonly version: RegExp;
  /** Undefined: an exact version cannot be asked for, and `whyNoPin` says why. */
  readonly pin: ((name: string, version: string) => string) | undefined;
  readonly whyNoPin?: string;
}

/** dpkg wants two characters at least and small letters. */
const aptName = /^[a-z0-9][a-z0-9+.-]{1,127}$/;
/** `[epoch:]upstream[-revision]`, which apt takes after `=`. */
const aptVersion = /^(?:\d{1,9}:)?[0-9][A-Za-z0-9.+~-]*$/;
const equals = (name: string, version: string) => `${name}=${version}`;

export const distributionFacts: Readonly<Record<Distribution, DistributionFacts>> = {
  debian: {
    title: 'Debian',
    packageManager: 'apt',
    releases: [
      { name: 'bullseye', number: '11' },
      { name: 'bookworm', number: '12' },
      { name: 'trixie', number: '13' },
    ],
    defaultRelease: 'bookworm',
    name: aptName,
    version: aptVersion,
    pin: equals,
  },
  ubuntu: {
    title: 'Ubuntu',
    packageManager: 'apt',
    releases: [
      { name: 'jammy', number: '22.04' },
      { name: 'noble', number: '24.04' },
    ],
    defaultRelease: 'noble',
    name: aptName,
    version: aptVersion,
    pin: equals,
  },
  fedora: {
    title: 'Fedora',
    packageManager: 'dnf',
    releases: [
      { name: '41', number: '41' },
      { name: '42', number: '42' },
      { name: '43', number: '43' },
    ],
    defaultRelease: '42',
    name: /^[A-Za-z0-9][A-Za-z0-9+._-]{0,127}$/,
    version: /^(?:\d{1,9}:)?[0-9A-Za-z][A-Za-z0-9.+~^_-]*$/,
    pin: (name, version) => `${name}-${version}`,
  },
  arch: {
    title: 'Arch',
    packageManager: 'pacman',
    releases: [],
    defaultRelease: undefined,
    name: /^[a-z0-9][a-z0-9@._+-]{0,127}$/,
    version: /^(?:\d{1,9}:)?[0-9A-Za-z][A-Za-z0-9.+_~-]*$/,
    pin: undefined,
    whyNoPin: 'Arch keeps only the newest version of each package; a dated base image pins them all together',
  },
  nix: {
    title: 'Nix',
    packageManager: 'nix',
    releases: [
      { name: '24.11', number: '24.11' },
      { name: '25.05', number: '25.05' },
    ],
    defaultRelease: '25.05',
    name: /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,63}){0,4}$/,
    version: /^[0-9A-Za-z][A-Za-z0-9.+_-]*$/,
    pin: undefined,
    whyNoPin: 'a Nix channel has one version of each attribute; the release of the channel pins them all together',
  },
  alpine: {
    title: 'Alpine',
    packageManager: 'apk',
    releases: [
      { name: '3.20', number: '3.20' },
      { name: '3.21', number: '3.21' },
      { name: '3.22', number: '3.22' },
    ],
    defaultRelease: '3.22',
    name: /^[A-Za-z0-9][A-Za-z0-9+._-]{0,127}$/,
    version: /^[0-9][A-Za-z0-9._]*(?:-r\d{1,6})?$/,
    pin: equals,
  },
};

export function isDistributionName(word: string): word is Distribution {
  return (distributions as readonly string[]).includes(word);
}

/** The release's name for what a spec says, by name or number; undefined when there is none that is known. */
export function releaseName(distribution: Distribution, given: string | undefined): string | undefined {
  const { releases, defaultRelease } = distributionFacts[distribution];
  if (given === undefined) return defaultRelease;
  return releases.find(({ name, number }) => name === given || number === given)?.name;
}

export function isNativeName(distribution: Distribution, name: string): boolean {
  return distributionFacts[distribution].name.test(name);
}

export function isNativeVersion(distribution: Distribution, version: string): boolean {
  return version.length <= 128 && distributionFacts[distribution].version.test(version);
}
