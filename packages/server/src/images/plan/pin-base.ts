import type { ImageDigest, ResolvedImagePlan, WorkspaceBlueprint } from '@caisson/workspace-composition';
import type { Images } from '../images.ts';
import { osFacts } from './os-facts.ts';
import type { PlanPlace } from './plan-place.ts';

type Base = ResolvedImagePlan['base'];

/** The digest that the base of a blueprint has now: of what is kept, or of what its registry says. Nothing is fetched. */
export async function pinBase(
  images: Images,
  blueprint: WorkspaceBlueprint,
  place: PlanPlace,
  signal: AbortSignal,
): Promise<Base | string> {
  if (place.distribution === 'debian') {
    const digest = await images.keptDebian(place.release);
    const reference = `debian:${place.release}`;
    if (digest !== undefined) return { kind: 'rootfs-archive', reference, digest };
    return `the base Debian ${place.release} is not made yet: its digest, and that of the plan, is known after the first build`;
  }
  const facts = place.distribution === undefined ? undefined : osFacts[place.distribution];
  const reference = facts?.baseReference?.(place.release) ?? blueprint.target.os.reference ?? '';
  if (facts !== undefined && !images.hasDefaultRegistry)
    return `\`${reference}\` names no registry, and this server has no default one: the base is not known`;
  const pinned = await images.pin(reference, signal);
  if (pinned === undefined) return `the digest of \`${reference}\` is known when it is unpacked`;
  return { ...pinned, digest: pinned.digest as ImageDigest };
}
