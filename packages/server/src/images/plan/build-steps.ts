import type { ResolvedImagePlan } from '@caisson/workspace-composition';
import { harnessRoot } from '../harnesses/commands.ts';
import { distributionFacts, isDistributionName } from '../packages/distributions.ts';
import { shellQuote } from '../shell/shell-quote.ts';
import type { PlanDraft } from './make-plan.ts';
import { installScript } from './os-facts.ts';
import { usersScript } from './users-script.ts';

/**
 * A plan as what is done, in order. Every builder does these and nothing else, each on what the one before left.
 *
 * Laws
 * - A `run` step ends at the first command of it that fails.
 * - A `copy` step brings in a folder that the builder has fetched: no credential is ever where steps run.
 * - What changes seldom comes first, so that a change at the end costs only the end.
 */
export type BuildStep = RunStep | CopyStep;

interface StepHead {
  /** Unique among the steps of a plan. */
  readonly id: string;
  readonly title: string;
}

export interface RunStep extends StepHead {
  readonly kind: 'run';
  readonly shell: 'sh' | 'bash';
  readonly script: string;
  readonly user: string;
  /** Whether it sees the plan's `env`: those of the system do not, so that a variable cannot change what they do. */
  readonly withEnv: boolean;
}

export interface CopyStep extends StepHead {
  readonly kind: 'copy';
  /** In the build context. */
  readonly from: string;
  readonly to: string;
}

/** Where an input goes when the spec does not say: beside the harness, out of the way of packages and of the workspace. */
export const inputsRoot = `${harnessRoot}/inputs`;

export function buildSteps(plan: PlanDraft | ResolvedImagePlan): readonly BuildStep[] {
  return [
    ...packageSteps(plan),
    ...userSteps(plan),
    ...harnessSteps(plan),
    ...plan.inputs.map(({ id, mountPath }) =>
      copy(`input-${id}`, `the input ${id}`, `inputs/${id}`, mountPath ?? `${inputsRoot}/${id}`),
    ),
    ...(plan.repository === undefined
      ? []
      : [copy('repository', 'the repository', 'repository', plan.repository.path)]),
    ...plan.steps.map((step) =>
      run(`setup-${step.id}`, `setup: ${step.id}`, inDirectory(step), { ...step, withEnv: true }),
    ),
  ];
}

function packageSteps({ packages, os }: PlanDraft | ResolvedImagePlan): BuildStep[] {
  const { family } = os;
  if (packages.length === 0 || !isDistributionName(family)) return [];
  const { packageManager, pin } = distributionFacts[family];
  const items = packages.map(({ nativeName, version }) =>
    version === undefined || pin === undefined ? nativeName : pin(nativeName, version),
  );
  return [run('packages', `${packages.length} packages`, installScript(packageManager, items, os.release))];
}

function userSteps({ users }: PlanDraft | ResolvedImagePlan): BuildStep[] {
  return users.length === 0 ? [] : [run('users', 'users and their login shells', usersScript(users))];
}

function harnessSteps({ harness }: PlanDraft | ResolvedImagePlan): BuildStep[] {
  return (harness?.install ?? []).map((step) => run(`harness-${step.id}`, `harness: ${step.id}`, step.run));
}

function inDirectory({ workingDirectory, run }: ResolvedImagePlan['steps'][number]): string {
  const directory = shellQuote(workingDirectory);
  return `mkdir -p ${directory}\ncd ${directory}\n${run}`;
}

function copy(id: string, title: string, from: string, to: string): CopyStep {
  return { kind: 'copy', id, title, from, to };
}

function run(
  id: string,
  title: string,
  script: string,
  { shell = 'sh', user = 'root', withEnv = false }: { shell?: 'sh' | 'bash'; user?: string; withEnv?: boolean } = {},
): RunStep {
  return { kind: 'run', id, title, shell, script, user, withEnv };
}
