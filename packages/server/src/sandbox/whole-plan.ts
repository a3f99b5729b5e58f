import { CaissonError, type WorkspaceBlueprint } from '@caisson/contract';
import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import type { BaseImage, Images } from '../images/images.ts';
import { isFailure, planPlace } from '../images/plan/plan-place.ts';
import type { Plans } from './plans.ts';
import type { SourceFacts } from './sources-port.ts';

export interface WholePlanParts {
  readonly plans: Plans;
  readonly images: Images | undefined;
}

interface WholePlanOptions {
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** The plan of a blueprint with nothing left open: a base that is not there yet is made or fetched for it. */
export async function wholePlan(
  { plans, images }: WholePlanParts,
  blueprint: WorkspaceBlueprint,
  facts: SourceFacts,
  options: WholePlanOptions,
): Promise<{ readonly plan: ResolvedImagePlan; readonly planDigest: string }> {
  const base = await baseOf(images, blueprint, options);
  const { plan, planDigest, unresolved, notices } = await plans.propose(blueprint, options.signal, facts, base);
  if (planDigest === null)
    throw new CaissonError('build_failed', [`the plan lacks ${unresolved.join(', ')}`, ...notices].join('; '));
  return { plan: plan as ResolvedImagePlan, planDigest };
}

async function baseOf(
  images: Images | undefined,
  blueprint: WorkspaceBlueprint,
  { signal, progress }: WholePlanOptions,
): Promise<BaseImage | undefined> {
  const place = planPlace(blueprint);
  const { os } = blueprint.target;
  if (isFailure(place) || (place.distribution !== 'debian' && os.family !== 'image')) return undefined;
  const release = place.release === undefined ? {} : { release: place.release };
  const base = place.distribution === 'debian' ? ({ family: 'debian', mode: os.mode, ...release } as const) : os;
  return images?.resolve(base, { signal, progress });
}
