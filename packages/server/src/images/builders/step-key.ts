import type { NetworkRules } from '@caisson/contract';
import { canonicalJson, type ResolvedImagePlan } from '@caisson/workspace-composition';
import { planDigest } from '@caisson/workspace-composition/digest';
import { digestOf } from '../digest.ts';
import type { BuildStep } from '../plan/build-steps.ts';

/** Raised when the same step would leave something else than before. */
const edition = 2;

/** Everything that what a step leaves depends on, as far as it can be known. */
export interface StepInputs {
  readonly step: BuildStep;
  /** The layers that it is done on, lowest first. */
  readonly parents: readonly string[];
  readonly platform: ResolvedImagePlan['platform'];
  /** What every process of the image sees, and where it begins. */
  readonly baseEnv: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly planEnv: Readonly<Record<string, string>>;
  readonly tenant: string;
  readonly rules: NetworkRules;
}

/**
 * The name under which what a step leaves is found again. Titles and ids are for people and are not in it. The steps of
 * the system are the same for everybody who may reach the same; what the words of a tenant made is found by that tenant
 * alone.
 */
export function stepKey(inputs: StepInputs): string {
  const { step, parents, platform, baseEnv, directory, planEnv, tenant, rules } = inputs;
  const what =
    step.kind === 'copy'
      ? { kind: step.kind, to: step.to, content: step.content }
      : {
          kind: step.kind,
          shell: step.shell,
          script: step.script,
          user: step.user,
          directory,
          env: baseEnv,
          planEnv: step.withEnv ? planEnv : null,
          reach: reachOf(rules),
        };
  return hexOf(canonicalJson({ edition, parents, platform, tenant: isOwnOf(step) ? tenant : null, ...what }));
}

/**
 * The name under which the image of a whole plan is found. A plan says which commit of a repository is in the image, which
 * whoever may not read the repository can write too: such an image is found by its tenant alone.
 */
export function planKey(
  plan: ResolvedImagePlan,
  steps: readonly BuildStep[],
  { tenant, rules }: Pick<StepInputs, 'tenant' | 'rules'>,
): string {
  const scope = steps.some(isOwnOf) ? tenant : null;
  const reach = steps.some(({ kind }) => kind === 'run') ? reachOf(rules) : null;
  return `plan-${hexOf(canonicalJson({ edition, plan: planDigest(plan), tenant: scope, reach }))}`;
}

/**
 * What rules let a step reach, and nothing of how much or how fast. What it could not reach it may have left out; what it
 * reached must not be in the image of somebody whose rules forbid it.
 */
export function reachOf({ mode, allow, deny }: NetworkRules): Record<string, unknown> {
  const sorted = (entries: readonly string[]) => [...new Set(entries)].sort();
  if (mode === 'off') return { mode };
  return { mode, allow: sorted(allow), deny: sorted(deny) };
}

function isOwnOf(step: BuildStep): boolean {
  return step.kind === 'copy' || step.withEnv;
}

function hexOf(text: string): string {
  return digestOf(text).replace('sha256:', '');
}
