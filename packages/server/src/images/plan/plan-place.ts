import type { SupportFailure, WorkspaceBlueprint } from '@caisson/workspace-composition';
import { distributionFacts, isDistributionName, releaseName } from '../packages/distributions.ts';
import type { PackagePlace } from '../packages/resolution.ts';

/** What a plan is made for: a distribution, or an image of which only its reference is known. */
export type PlanPlace = PackagePlace | { readonly distribution: undefined; readonly release: undefined };

/** `auto` is Debian, the one that needs no image from elsewhere. */
export function planPlace(blueprint: WorkspaceBlueprint): PlanPlace | SupportFailure {
  const { family, release } = blueprint.target.os;
  if (family === 'image') return { distribution: undefined, release: undefined };
  if (family === 'host')
    return failure('target.os.family', "the machine's own programs are shown as they are; nothing is built on them");
  const distribution = family === 'auto' ? 'debian' : family;
  if (!isDistributionName(distribution)) return failure('target.os.family', `\`${family}\` is not known here`);
  const name = releaseName(distribution, release);
  if (name !== undefined || distribution === 'arch') {
    if (distribution !== 'arch' || release === undefined) return { distribution, release: name };
    return failure('target.os.release', 'Arch has no releases');
  }
  const { title, releases } = distributionFacts[distribution];
  const known = releases.map(({ name }) => name).join(', ');
  return failure('target.os.release', `\`${release}\` is not a release of ${title} that is known here: ${known}`);
}

export function isFailure(place: PlanPlace | SupportFailure): place is SupportFailure {
  return 'reason' in place;
}

function failure(path: string, message: string): SupportFailure {
  return { reason: 'unsupported-os', path, message };
}
