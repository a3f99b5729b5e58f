import { canonicalJson, type ResolvedImagePlan } from '@caisson/workspace-composition';
import { harnessRoot } from '../harnesses/commands.ts';
import { distributionFacts, isDistributionName } from '../packages/distributions.ts';
import type { DraftInput, PlanDraft } from './make-plan.ts';
import { installScript } from './os-facts.ts';
import { setupScript } from './setup-script.ts';
import { usersScript } from './users-script.ts';

/**
 * A plan as what is done, in order. Every builder does these and nothing else, each on what the one before left.
 *
 * Laws
 * - A `run` step ends at the first command of it that fails.
 * - A `copy` step brings in a folder that the builder has fetched: no credential is ever where steps run. What it brings
 *   belongs to the sandbox's user, with every folder that is made for it; a folder that was there stays as it was.
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
  /** What a person wrote of it, for errors. */
  readonly command: string;
}

export interface CopyStep extends StepHead {
  readonly kind: 'copy';
  /** In the build context. */
  readonly from: string;
  readonly to: string;
  /** What it brings, by its commit or digest: whoever brings that again brings the same. Null while it is not known. */
  readonly content: string | null;
}

/** Where an input goes when the spec does not say: beside the harness, out of the way of packages and of the workspace. */
export const inputsRoot = `${harnessRoot}/inputs`;

export function buildSteps(plan: PlanDraft | ResolvedImagePlan): readonly BuildStep[] {
  return [
    ...packageSteps(plan),
    ...userSteps(plan),
    ...harnessSteps(plan),
    ...plan.inputs.map((input) => inputStep(input)),
    ...repositorySteps(plan),
    ...plan.steps.map((step) =>
      run(`setup-${step.id}`, `setup: ${step.id}`, setupScript(step, plan), {
        ...{ shell: step.shell, user: step.user, command: step.run },
        withEnv: true,
      }),
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

function inputStep(input: DraftInput | ResolvedImagePlan['inputs'][number]): CopyStep {
  const { id, mountPath } = input;
  const known = 'kind' in input ? input : input.resolved;
  return {
    ...{ kind: 'copy', id: `input-${id}`, title: `the input ${id}`, from: `inputs/${id}` },
    to: mountPath ?? `${inputsRoot}/${id}`,
    content: known === undefined ? null : contentOf(known),
  };
}

function repositorySteps({ repository }: PlanDraft | ResolvedImagePlan): CopyStep[] {
  if (repository === undefined) return [];
  const title = 'url' in repository ? 'the repository' : `the ${repository.kind}`;
  const head = { kind: 'copy', id: 'repository', title, from: 'repository' } as const;
  return [{ ...head, to: repository.path, content: contentOf(repository) }];
}

/** The address belongs to it, because it stands in the settings of the repository. */
function contentOf(
  source:
    | { readonly url: string; readonly commit: string | null; readonly submodules?: true }
    | { readonly kind: string; readonly digest: string | null },
): string | null {
  if (!('url' in source)) return source.digest;
  const { url, commit, submodules = false } = source;
  return commit === null ? null : canonicalJson({ url, commit, submodules });
}

function run(
  id: string,
  title: string,
  script: string,
  more: Partial<Pick<RunStep, 'shell' | 'user' | 'withEnv' | 'command'>> = {},
): RunStep {
  const common = { shell: 'sh', user: 'root', withEnv: false, command: script } as const;
  return { kind: 'run', id, title, script, ...common, ...more };
}
