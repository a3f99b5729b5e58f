import { CaissonError } from '@caisson/contract';
import type { Descriptor, Index, Platform } from './documents.ts';

/** Node's names of machines → those of images. */
const architectures: Readonly<Record<string, string>> = {
  x64: 'amd64',
  arm64: 'arm64',
  arm: 'arm',
  ia32: '386',
  ppc64: 'ppc64le',
  riscv64: 'riscv64',
  s390x: 's390x',
};

export function machineArchitecture(): string {
  return architectures[process.arch] ?? process.arch;
}

/** The image for this machine. What an index also lists, such as attestations, has no platform or an unknown one. */
export function choosePlatform(index: Index, what: string): Descriptor {
  const wanted = machineArchitecture();
  const fitting = index.manifests.find(({ platform }) => platform?.os === 'linux' && platform.architecture === wanted);
  if (fitting) return fitting;
  const only = index.manifests.length === 1 ? index.manifests[0] : undefined;
  if (only !== undefined && only.platform === undefined) return only;
  const offered = index.manifests.flatMap(({ platform }) => (platform ? [platformName(platform)] : []));
  throw wrongPlatform(what, offered.slice(0, 20));
}

export function checkPlatform(platform: Platform, what: string): void {
  if (platform.os !== 'linux' || platform.architecture !== machineArchitecture())
    throw wrongPlatform(what, [platformName(platform)]);
}

function platformName({ os, architecture, variant }: Platform): string {
  return [os, architecture, variant].filter(Boolean).join('/');
}

function wrongPlatform(what: string, offered: readonly string[]): CaissonError {
  const has = offered.length === 0 ? 'nothing' : offered.join(', ');
  return new CaissonError('unsupported-os', `${what} is not made for linux/${machineArchitecture()}; it has ${has}`, {
    hint: 'Choose an image for this kind of machine, or build one.',
    context: { offered },
  });
}
