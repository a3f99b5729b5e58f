import type { Distribution } from '../packages/distributions.ts';

/**
 * A harness: the agent's own program, from the npm registry.
 *
 * Laws
 * - A version is exact. The program does not update itself: what ran is what the record says.
 * - A prompt goes in on the standard input: it can be taken for no option, is in no list of processes, and may be long.
 * - Secrets are named here and never given here.
 */
export interface Harness {
  readonly id: string;
  readonly title: string;
  readonly npmPackage: string;
  /** Taken when a spec names none. */
  readonly defaultVersion: string;
  /** The command, as npm links it. */
  readonly command: string;
  /** The least major version of Node that its package asks for. */
  readonly nodeMajor: number;
  /** Whether Node runs it, or only installs it: then the command is a program of its own. */
  readonly runsOnNode: boolean;
  /** What its program is linked against. A static one runs anywhere. */
  readonly libraries: readonly ('glibc' | 'musl' | 'static')[];
  /** Arguments for a session with a person. */
  readonly launch: readonly string[];
  /** Arguments for one prompt, which comes on the standard input. */
  readonly oneShot: readonly string[];
  /** The option that names a profile of it. */
  readonly profileOption: string;
  readonly variables: readonly HarnessVariable[];
  /** Set in every image: what keeps the version as it is. */
  readonly env: Readonly<Record<string, string>>;
}

export interface HarnessVariable {
  readonly name: string;
  readonly means: string;
  /** Belongs into a secret, not into `env`. */
  readonly secret: boolean;
}

/** Which libraries programs find on a distribution. Nix has them in no place that a foreign program looks in. */
export const systemLibraries: Readonly<Record<Distribution, 'glibc' | 'musl' | undefined>> = {
  debian: 'glibc',
  ubuntu: 'glibc',
  fedora: 'glibc',
  arch: 'glibc',
  nix: undefined,
  alpine: 'musl',
};
