import type { Distribution, PackageManager } from './distributions.ts';

/** What is asked for, and where. */
export interface PackageQuery {
  readonly id: string;
  readonly version?: string | undefined;
}

export interface PackagePlace {
  readonly distribution: Distribution;
  /** By its name; undefined where the distribution has none. */
  readonly release: string | undefined;
}

/** The packages that a release offers, as its own index says. */
export interface PackageIndex {
  /** What a person calls it: `Debian bookworm (amd64)`. */
  readonly name: string;
  /** Oldest first; empty when there is no such package. */
  versionsOf(nativeName: string): readonly string[];
}

export interface ResolvedPackage {
  readonly status: 'resolved';
  readonly id: string;
  readonly packageManager: PackageManager;
  readonly nativeNames: readonly string[];
  /** Exact, in the words of the distribution. Only where it was asked for. */
  readonly version?: string;
  /** Whether a real index of this release has been seen to have it. */
  readonly verified: boolean;
  readonly from: 'catalog' | 'index' | 'service' | 'spec';
  /** Why it is these names, for the explanation of a plan. */
  readonly why: string;
}

/**
 * The answer for one package. `not-found` and `ambiguous` leave the choice to whoever asked: a name that is guessed
 * installs somebody's software.
 */
export type PackageResolution =
  | ResolvedPackage
  | { readonly status: 'ambiguous'; readonly id: string; readonly candidates: readonly Candidate[] }
  | { readonly status: 'unsupported-on-os'; readonly id: string; readonly available: readonly Distribution[] }
  | { readonly status: 'not-found'; readonly id: string; readonly nearest: readonly string[]; readonly why: string }
  | {
      readonly status: 'version-unavailable';
      readonly id: string;
      readonly version: string;
      readonly available: readonly string[];
      readonly why: string;
    }
  | { readonly status: 'invalid'; readonly id: string; readonly why: string };

export interface Candidate {
  readonly id: string;
  readonly what: string;
}

export type Unresolved = Exclude<PackageResolution, ResolvedPackage>;
