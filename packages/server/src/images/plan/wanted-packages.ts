import { repositoryPlacement, type WorkspaceBlueprint } from '@caisson/workspace-composition';
import { nodeFor } from '../harnesses/node.ts';
import { findHarness } from '../harnesses/table.ts';
import { findThing } from '../packages/catalog/catalog.ts';
import { namesIn } from '../packages/catalog/thing.ts';
import type { PackagePlace, PackageQuery } from '../packages/resolution.ts';
import { osFacts } from './os-facts.ts';

/** A package that a blueprint needs, the field that asks for it, and why. */
export interface WantedPackage extends PackageQuery {
  readonly path: string;
  readonly why: string;
}

/** What the spec names, and what the rest of the spec cannot do without. What is named is never asked for twice. */
export function wantedPackages(blueprint: WorkspaceBlueprint, place: PackagePlace): readonly WantedPackage[] {
  const named = blueprint.tooling.packages.map((request, index) => ({
    ...request,
    path: `tooling.packages[${index}]`,
    why: 'the spec asks for it',
  }));
  const ids = new Set(named.map(({ id }) => id));
  return [...named, ...implied(blueprint, place).filter(({ id }) => !ids.has(id) && ids.add(id))];
}

function implied(blueprint: WorkspaceBlueprint, place: PackagePlace): readonly WantedPackage[] {
  const { customization, sources, access, lifecycle } = blueprint;
  const { included } = osFacts[place.distribution];
  const wanted: WantedPackage[] = [];
  const want = (id: string, path: string, why: string) => wanted.push({ id, path, why });
  if (!included.includes(customization.shell))
    want(customization.shell, 'customization.shell', 'it is the login shell');
  const steps = [...lifecycle.setup, ...lifecycle.startup.steps];
  if (!included.includes('bash') && steps.some(({ shell }) => shell === 'bash'))
    want('bash', 'lifecycle', 'steps are run by it');
  if (repositoryPlacement(blueprint) !== 'none' && sources.workspace.kind === 'git') {
    want('git', 'sources.workspace', 'the workspace is a repository');
    want('ca-certificates', 'sources.workspace', 'nothing is fetched over TLS without them');
  }
  if (access.ssh.enabled) want('openssh-server', 'access.ssh', 'people log in over SSH');
  for (const id of dotfilesTools(blueprint, place))
    want(id, 'customization.dotfilesManager', 'dotfiles are applied with it');
  for (const id of harnessPackages(blueprint, place)) want(id, 'harness', 'the harness is installed with it');
  return wanted;
}

/**
 * `auto` decides by what the dotfiles look like, so it has every tool that there is here. One that is named and is not
 * here can still be brought by setup steps; without any it is refused.
 */
function dotfilesTools(blueprint: WorkspaceBlueprint, place: PackagePlace): readonly string[] {
  const { applyDotfiles, dotfilesManager } = blueprint.customization;
  const has = blueprint.sources.inputs.some(({ purpose }) => purpose === 'dotfiles');
  if (!applyDotfiles || !has || dotfilesManager === 'copy') return [];
  const isHere = (id: string) => namesIn(findThing(id)?.names[place.distribution], place.release) !== undefined;
  if (dotfilesManager === 'auto') return ['stow', 'chezmoi'].filter(isHere);
  return isHere(dotfilesManager) || blueprint.lifecycle.setup.length === 0 ? [dotfilesManager] : [];
}

function harnessPackages(blueprint: WorkspaceBlueprint, place: PackagePlace): readonly string[] {
  const harness = findHarness(blueprint.harness.id);
  if (harness === undefined) return [];
  // What brings Node is the same on every kind of machine.
  const node = nodeFor(place, harness.nodeMajor, 'amd64');
  return node?.kind === 'packages' ? [...node.ids, 'ca-certificates'] : ['curl', 'ca-certificates'];
}
