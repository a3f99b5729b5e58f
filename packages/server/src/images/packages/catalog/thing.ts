import type { Distribution } from '../distributions.ts';

/**
 * One thing that developers ask for, and what each distribution calls it.
 *
 * Vocabulary: the *id* is what a spec should say, an *alias* is what people also write, a *native name* is what a
 * distribution's package manager takes. Several native names, separated by spaces, together are the thing.
 *
 * Laws
 * - An alias that two things share is ambiguous on purpose; an id is never also an alias.
 * - `false` says that the distribution does not have it; the reader is told who does.
 */
export interface Thing {
  readonly id: string;
  readonly what: string;
  readonly aliases: readonly string[];
  readonly names: Readonly<Record<Distribution, NativeName>>;
  /** Version lines that are packages of their own: `17` of Java is `openjdk-17-jdk`. */
  readonly lines: Readonly<Partial<Record<Distribution, Readonly<Record<string, NativeName>>>>>;
}

/** The same in every release, or by release with a `default` for the others. */
export type NativeName = string | false | ByRelease;
type ByRelease = Readonly<Record<string, string | false>> & { readonly default: string | false };

type GivenNames = Partial<Record<Distribution, NativeName>> & { readonly all?: string | false };

/** `all` stands for every distribution that is not named; Ubuntu follows Debian unless it is named. */
export function thing(id: string, what: string, aliases: string, given: GivenNames, lines: Thing['lines'] = {}): Thing {
  const rest = given.all ?? false;
  const debian = given.debian ?? rest;
  return {
    id,
    what,
    aliases: aliases === '' ? [] : aliases.split(' '),
    names: {
      debian,
      ubuntu: given.ubuntu ?? (typeof debian === 'object' ? debian.default : debian),
      fedora: given.fedora ?? rest,
      arch: given.arch ?? rest,
      nix: given.nix ?? rest,
      alpine: given.alpine ?? rest,
    },
    lines,
  };
}

/** The native names of a thing or of one of its lines; undefined where the distribution does not have it. */
export function namesIn(name: NativeName | undefined, release: string | undefined): readonly string[] | undefined {
  const found = typeof name === 'object' ? ownValue(name, release) : name;
  return found === undefined || found === false ? undefined : found.split(' ');
}

function ownValue(names: ByRelease, release: string | undefined): string | false {
  return (release !== undefined && Object.hasOwn(names, release) ? names[release] : undefined) ?? names.default;
}
