import {
  type BuildkitBuildSpec,
  buildkitBuildSpecSchema,
  type ResolvedImagePlan,
} from '@caisson/workspace-composition';
import { planDigest } from '@caisson/workspace-composition/digest';
import { renderContainerfile, type Surroundings } from './containerfile.ts';

/** The start of the year 2000: later than every archive format can say, earlier than anything that is built. */
export const sourceDateEpoch = 946_684_800;

/** The label by which an image is known to be that of a plan. */
export const planLabel = 'dev.caisson.plan';

/** What BuildKit is given for a plan: a pure function of the plan, of where the image should go and of what is around it. */
export function buildSpec(
  plan: ResolvedImagePlan,
  output: BuildkitBuildSpec['output'],
  surroundings: Surroundings = {},
): BuildkitBuildSpec {
  const digest = planDigest(plan);
  const labels = { ...plan.labels, [planLabel]: digest };
  const { text, files } = renderContainerfile(plan, labels, surroundings);
  return buildkitBuildSpecSchema.parse({
    version: plan.version,
    planDigest: digest,
    platform: plan.platform,
    frontend: 'dockerfile.v0',
    dockerfile: text,
    files,
    secrets: [],
    labels,
    sourceDateEpoch,
    output,
  });
}
