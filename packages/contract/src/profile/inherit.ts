import { CaissonError } from '../errors/caisson-error.ts';
import { mergeSpecs } from './merge-spec.ts';
import { type Profile, profileRef, type ResolvedProfile } from './profile.ts';

/** Finds a profile; without a version, its newest. */
export type ProfileLookup = (name: string, version?: number) => Profile | undefined;

/** A chain longer than this is a mistake, and costs each reader more than a copy would. */
const maxDepth = 8;

/**
 * Folds the ancestors of a profile into it. What the child says wins: policies merge field by field, inputs name by
 * name, specs as `mergeSpecs` says. `name`, `version` and `description` are never inherited.
 */
export function resolveProfile(profile: Profile, lookup: ProfileLookup): ResolvedProfile {
  const chain = ancestry(profile, lookup);
  const folded = chain.reduceRight<Omit<Profile, 'extends'>>((parent, child) => inherit(parent, child), {
    name: profile.name,
    version: profile.version,
  });
  return { ...folded, lineage: chain.map(profileRef) };
}

function ancestry(profile: Profile, lookup: ProfileLookup): Profile[] {
  const chain: Profile[] = [profile];
  const names = new Set([profile.name]);
  for (let current = profile; current.extends !== undefined; ) {
    const { name, version } = current.extends;
    const parent = lookup(name, version);
    const wanted = version === undefined ? name : `${name}@${version}`;
    if (parent === undefined) {
      throw new CaissonError(
        'profile_not_found',
        `profile ${profileRef(current)} extends ${wanted}, which does not exist`,
      );
    }
    if (names.has(parent.name) || chain.length >= maxDepth) {
      const path = [...chain.map(profileRef), profileRef(parent)].join(' → ');
      throw new CaissonError(
        'profile_cycle',
        names.has(parent.name)
          ? `profiles extend in a circle: ${path}`
          : `more than ${maxDepth} profiles extend each other: ${path}`,
      );
    }
    names.add(parent.name);
    chain.push(parent);
    current = parent;
  }
  return chain;
}

function inherit(parent: Omit<Profile, 'extends'>, child: Profile): Omit<Profile, 'extends'> {
  const { extends: _, description: __, ...rest } = { ...parent, ...child };
  const merged: Omit<Profile, 'extends'> = { ...rest };
  if (child.description !== undefined) merged.description = child.description;
  if (parent.inputs && child.inputs) merged.inputs = { ...parent.inputs, ...child.inputs };
  if (parent.spec && child.spec) merged.spec = mergeSpecs(parent.spec, child.spec);
  if (parent.lease && child.lease) merged.lease = { ...parent.lease, ...child.lease };
  if (parent.resources && child.resources) merged.resources = { ...parent.resources, ...child.resources };
  if (parent.network && child.network) merged.network = { ...parent.network, ...child.network };
  if (parent.network?.limits && child.network?.limits)
    merged.network = { ...merged.network, limits: { ...parent.network.limits, ...child.network.limits } };
  if (parent.snapshots && child.snapshots) merged.snapshots = { ...parent.snapshots, ...child.snapshots };
  if (parent.route && child.route) merged.route = { ...parent.route, ...child.route };
  return merged;
}
