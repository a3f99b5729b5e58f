import {
  normalizeUserWorkspaceSpec,
  type ResolvedImagePlan,
  type WorkspaceBlueprint,
} from '@caisson/workspace-composition';
import { installHarness } from '../../packages/server/src/images/harnesses/install.ts';
import { findHarness } from '../../packages/server/src/images/harnesses/table.ts';
import type { ResolvedPackage } from '../../packages/server/src/images/packages/resolution.ts';
import { resolvePackage } from '../../packages/server/src/images/packages/resolve.ts';
import { type Draft, draftPlan, finishPlan, type PlanFacts } from '../../packages/server/src/images/plan/make-plan.ts';
import { isFailure, planPlace } from '../../packages/server/src/images/plan/plan-place.ts';
import { wantedPackages } from '../../packages/server/src/images/plan/wanted-packages.ts';

export const commit = '0123456789abcdef0123456789abcdef01234567';
export const digest = `sha256:${'ab'.repeat(32)}`;

/** Something of everything. */
export const richSpec = {
  repo: { kind: 'git', url: 'https://git.example/team/project.git', ref: commit },
  harness: 'codex',
  packages: ['go', 'ripgrep', 'build-essential', 'psql', 'jq'],
  setup: ['make deps', { id: 'check', run: 'set -u\necho "$GREETING"', shell: 'bash', workingDirectory: 'tools' }],
  env: { GREETING: 'hello "world" $HOME', LINES: 'one\ntwo' },
  customization: { shell: 'zsh', dotfilesManager: 'stow' },
  inputs: [{ purpose: 'dotfiles', kind: 'git', url: 'https://git.example/me/dotfiles.git', ref: commit }],
};

export function blueprintOf(spec: Record<string, unknown>): WorkspaceBlueprint {
  return normalizeUserWorkspaceSpec(spec, { requireSource: false });
}

/** Without an index: what the catalog alone says. */
export function factsOf(blueprint: WorkspaceBlueprint): PlanFacts {
  const place = planPlace(blueprint);
  if (isFailure(place)) throw new Error(place.message);
  const harness = findHarness(blueprint.harness.id);
  const known = place.distribution === undefined ? undefined : place;
  const install =
    harness &&
    known &&
    installHarness(harness, { place: known, architecture: 'amd64', version: blueprint.harness.version });
  if (typeof install === 'string') throw new Error(install);
  const base = (
    place.distribution === 'debian'
      ? { kind: 'rootfs-archive', reference: `debian:${place.release}`, digest }
      : { kind: 'registry', reference: `registry.example/library/${place.distribution ?? 'image'}:latest`, digest }
  ) as ResolvedImagePlan['base'];
  const packages =
    known === undefined
      ? []
      : wantedPackages(blueprint, known).map((wanted) => {
          const found = resolvePackage(wanted, known);
          if (found.status !== 'resolved') throw new Error(`${wanted.id}: ${found.status}`);
          return found satisfies ResolvedPackage;
        });
  return { platform: { os: 'linux', architecture: 'amd64' }, place, base, packages, harness: install };
}

export function draftOf(blueprint: WorkspaceBlueprint): Draft {
  return draftPlan(blueprint, factsOf(blueprint));
}

export function planOf(blueprint: WorkspaceBlueprint): ResolvedImagePlan {
  return finishPlan(blueprint, draftOf(blueprint));
}
