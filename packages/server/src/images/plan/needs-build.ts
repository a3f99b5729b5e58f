import type { WorkspaceBlueprint } from '@caisson/workspace-composition';
import { isFailure, planPlace } from './plan-place.ts';
import { wantedPackages } from './wanted-packages.ts';

/** Whether a blueprint asks for more than its base has. Without that it is launched from the base as it is. */
export function needsBuild(blueprint: WorkspaceBlueprint): boolean {
  const { harness, lifecycle, sources, tooling } = blueprint;
  const isAsked =
    harness.id !== 'none' || lifecycle.setup.length > 0 || sources.inputs.length > 0 || tooling.packages.length > 0;
  if (isAsked) return true;
  const place = planPlace(blueprint);
  if (isFailure(place) || place.distribution === undefined) return false;
  return wantedPackages(blueprint, place).length > 0;
}
