import type { WorkspaceBlueprint } from '@caisson/workspace-composition';
import { type Distribution, isDistributionName, type PackageManager, releaseName } from '../packages/distributions.ts';
import { shellWords } from '../shell/shell-quote.ts';

type Shell = WorkspaceBlueprint['customization']['shell'];

/** What differs between distributions when an image is built, beside the names of packages. */
export interface OsFacts {
  /** Where login shells are. */
  readonly shells: Readonly<Record<Shell, string>>;
  /** Shells that the smallest base has. */
  readonly included: readonly Shell[];
  /** The base without a registry's host: the server's default registry is asked. Undefined: Caisson makes it itself. */
  readonly baseReference: ((release: string | undefined) => string) | undefined;
}

const usrBin = { bash: '/usr/bin/bash', zsh: '/usr/bin/zsh', fish: '/usr/bin/fish' };

export const osFacts: Readonly<Record<Distribution, OsFacts>> = {
  debian: { shells: { ...usrBin, bash: '/bin/bash' }, included: ['bash'], baseReference: undefined },
  ubuntu: {
    shells: { ...usrBin, bash: '/bin/bash' },
    included: ['bash'],
    baseReference: (release) => `library/ubuntu:${release}`,
  },
  fedora: { shells: usrBin, included: ['bash'], baseReference: (release) => `library/fedora:${release}` },
  arch: { shells: usrBin, included: ['bash'], baseReference: () => 'library/archlinux:base' },
  nix: {
    // What root installs is in the profile of everybody; the link in root's home is root's alone.
    shells: {
      bash: '/nix/var/nix/profiles/default/bin/bash',
      zsh: '/nix/var/nix/profiles/default/bin/zsh',
      fish: '/nix/var/nix/profiles/default/bin/fish',
    },
    included: ['bash'],
    baseReference: () => 'nixos/nix:2.28.3',
  },
  alpine: {
    shells: { bash: '/bin/bash', zsh: '/bin/zsh', fish: '/usr/bin/fish' },
    included: [],
    baseReference: (release) => `library/alpine:${release}`,
  },
};

/**
 * The script that installs packages and leaves nothing else behind: no index, no cache, no log, because those differ
 * from one day to the next and belong to nobody. `items` are names with their pins.
 */
export function installScript(manager: PackageManager, items: readonly string[], release: string | undefined): string {
  const words = shellWords(items);
  switch (manager) {
    case 'apt':
      return [
        'set -eu',
        'export DEBIAN_FRONTEND=noninteractive',
        'apt-get update -q',
        `apt-get install -q -y --no-install-recommends${items.some(pinned) ? ' --allow-downgrades' : ''} ${words}`,
        'apt-get clean',
        'rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache',
        'rm -rf /var/log/apt /var/log/dpkg.log /var/log/alternatives.log',
      ].join('\n');
    case 'dnf':
      return [
        'set -eu',
        `dnf install -y --setopt=install_weak_deps=False --setopt=tsflags=nodocs ${words}`,
        'dnf clean all',
        'rm -rf /var/cache/dnf /var/cache/libdnf5 /var/log/dnf* /var/log/hawkey.log',
      ].join('\n');
    case 'pacman':
      // Arch supports no partial upgrade: what is installed must fit what is there.
      return [
        'set -eu',
        `pacman -Syu --noconfirm --needed ${words}`,
        'rm -rf /var/cache/pacman/pkg/* /var/lib/pacman/sync/* /var/log/pacman.log',
      ].join('\n');
    case 'apk':
      return ['set -eu', `apk add --no-cache ${words}`, 'rm -rf /var/cache/apk/* /var/log/apk.log'].join('\n');
    case 'nix':
      return [
        'set -eu',
        `nix-env -f ${shellWords([`channel:nixos-${release}`])} -iA ${words}`,
        'nix-collect-garbage -d',
        'rm -rf /root/.cache/nix',
      ].join('\n');
  }
}

function pinned(item: string): boolean {
  return item.includes('=');
}

/** The image that a distribution by itself stands for, without a registry's host; undefined where there is none. */
export function distributionImage({ family, release }: WorkspaceBlueprint['target']['os']): string | undefined {
  if (!isDistributionName(family)) return undefined;
  const name = releaseName(family, release);
  return release !== undefined && name === undefined ? undefined : osFacts[family].baseReference?.(name);
}
